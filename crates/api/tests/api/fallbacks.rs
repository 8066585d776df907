//! Who answers in place of an engine that does not, and what is told of it.

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    engines::{contents, scripted_agent, turn},
    harness::{Plan, id_of},
    script::{Always, Immediate, scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn when_one_engine_fails_the_next_one_speaks() {
    let (engine, mut script) = scripted();
    let refuses = Always(|| Err(ReplyError::Refused("no".into())));
    let is_away = Always(|| Err(ReplyError::Unavailable("gone".into())));
    let plan = Plan::default().engine("scripted", engine);
    let plan = plan.engine("refuses", refuses).engine("away", is_away);
    let api = plan.start().await;
    let agent_with = |engine: &'static str, fallbacks: Value| {
        let config = json!({"engine": engine, "fallbacks": fallbacks, "fallbackReply": "Hm."});
        api.agent(json!({"name": "Ada", "config": config}))
    };
    let agent = id_of(&agent_with("refuses", json!(["away", "rules", "scripted"])).await);
    let reply = api
        .chat(json!({"agentId": agent, "message": "xyzzy"}))
        .await;
    assert_eq!(
        (&reply["engine"], &reply["degraded"]),
        (&json!("rules"), &json!(true))
    );
    assert_eq!(reply["message"], "Hm.");
    let turn = turn(&api, reply["turnId"].as_str().unwrap()).await;
    assert_eq!(
        (&turn["engine"], &turn["degraded"]),
        (&json!("rules"), &json!(true))
    );
    script.assert_no_more_calls();

    let agent = id_of(&agent_with("refuses", json!(["away"])).await);
    let command = json!({"agentId": agent, "message": "xyzzy"});
    let answer = api.writer().post("/api/chat", command).await;
    answer.problem(ProblemCode::EngineUnavailable);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_named_twice_is_asked_once() {
    let (api, mut script, agent) = scripted_agent(json!({
        "fallbacks": ["scripted", "rules", "rules", "scripted"], "fallbackReply": "Hm.",
    }))
    .await;
    let command = json!({"agentId": agent, "message": "xyzzy"});
    let (reply, ()) = tokio::join!(api.chat(command), async {
        script.next_call().await.fail(ReplyError::TimedOut);
    });
    assert_eq!(
        (&reply["engine"], &reply["message"]),
        (&json!("rules"), &json!("Hm."))
    );
    script.assert_no_more_calls();

    let config = json!({"engine": "scripted", "fallbacks": ["scripted"]});
    let agent = id_of(&api.agent(json!({"name": "Bob", "config": config})).await);
    let command = json!({"agentId": agent, "message": "Hello"});
    let writer = api.writer();
    let (answer, ()) = tokio::join!(writer.post("/api/chat", command), async {
        script.next_call().await.fail(ReplyError::TimedOut);
    });
    answer.problem(ProblemCode::EngineTimeout);
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_fallback_had_said_before_it_was_cancelled_is_told_as_its_own() {
    let (engine, mut script) = scripted();
    let refuses = Always(|| Err(ReplyError::Refused("no".into())));
    let plan = Plan::default().engine("scripted", engine);
    let api = plan.engine("refuses", refuses).start().await;
    let config = json!({"engine": "refuses", "fallbacks": ["scripted"]});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let command = json!({"agentId": agent, "message": "Hello"});
    let writer = api.writer();
    let (answer, ()) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        call.say("Well, ").await;
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        writer.request("POST", &path).send().await.ok();
    });
    let problem = answer.problem(ProblemCode::TurnCancelled);
    let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
    assert_eq!(turn["reply"]["content"], "Well, ");
    assert_eq!(
        (&turn["engine"], &turn["degraded"]),
        (&json!("scripted"), &json!(true))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_left_alone_is_answered_for_or_fails_at_once() {
    let away = Always(|| Err(ReplyError::Unavailable("gone".into())));
    let api = Plan::default().engine("away", away).start().await;
    let agent_with = |fallbacks: &'static [&'static str]| {
        let config = json!({"engine": "away", "fallbacks": fallbacks, "fallbackReply": "Hm."});
        api.agent(json!({"name": "Ada", "config": config}))
    };
    let helped = id_of(&agent_with(&["rules"]).await);
    let command = json!({"agentId": helped, "message": "xyzzy"});
    // So many failures are known that it is not asked any more.
    for _ in 0..21 {
        let reply = api.chat(command.clone()).await;
        assert_eq!(
            (&reply["engine"], &reply["degraded"], &reply["message"]),
            (&json!("rules"), &json!(true), &json!("Hm."))
        );
    }
    let engines = api.reader().get("/api/engines").await.ok();
    assert_eq!(engines["data"][0]["name"], "away");
    assert_eq!(engines["data"][0]["available"], false);

    let alone = id_of(&agent_with(&[]).await);
    let command = json!({"agentId": alone, "message": "xyzzy"});
    let answer = api.writer().post("/api/chat", command).await;
    let problem = answer.problem(ProblemCode::EngineUnavailable);
    let wait = problem["retryAfter"].as_i64().expect("a wait");
    assert!((1..=10).contains(&wait), "{problem}");
    let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
    assert_eq!(turn["error"]["retryAfter"], wait);
    // What was asked is not lost for that.
    let conversation = problem["conversationId"].as_str().unwrap();
    assert_eq!(contents(&api, conversation).await, ["xyzzy"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_answers_at_once_is_asked_once_in_a_turn() {
    let (engine, mut script) = scripted();
    let plan = Plan::default().engine("quick", Immediate(engine));
    let api = plan.start().await;
    for (fallbacks, code) in [
        (json!([]), Some(ProblemCode::EngineTimeout)),
        (json!(["rules"]), None),
    ] {
        let config = json!({"engine": "quick", "fallbacks": fallbacks, "fallbackReply": "Hm."});
        let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
        let command = json!({"agentId": agent, "message": "xyzzy"});
        let writer = api.writer();
        let (answer, ()) = tokio::join!(writer.post("/api/chat", command), async {
            script.next_call().await.fail(ReplyError::TimedOut);
        });
        match code {
            Some(code) => {
                let problem = answer.problem(code);
                let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
                assert_eq!(turn["status"], "failed");
            }
            None => assert_eq!(answer.json()["degraded"], true),
        }
        script.assert_no_more_calls();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_engine_is_503_and_nothing_is_stored() {
    let full = Immediate(Always(|| Err(ReplyError::Overloaded)));
    let api = Plan::default().engine("full", full).start().await;
    let config = json!({"engine": "full"});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let command = json!({"agentId": agent, "message": "xyzzy"});
    let problem = api.writer().post("/api/chat", command).await;
    let problem = problem.problem(ProblemCode::Overloaded);
    assert_eq!(problem.get("turnId"), None);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_is_asked_for_the_model_of_its_operator() {
    let (engine, mut script) = scripted();
    let (fallback, mut fallback_script) = scripted();
    let plan = Plan::default().engine("own", engine);
    let api = plan.engine("other", fallback).start().await;
    let llm = json!({"model": "large", "temperature": 0.5});
    let config = json!({"engine": "own", "fallbacks": ["other"], "llm": llm});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let command = json!({"agentId": agent, "message": "Hello"});
    let writer = api.writer();
    let (answer, ()) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        let llm = call.request.agent.config.llm.clone().unwrap();
        assert_eq!(llm.model.as_deref(), Some("large"));
        call.fail(ReplyError::TimedOut);
        let call = fallback_script.next_call().await;
        let llm = call.request.agent.config.llm.clone().unwrap();
        assert_eq!((llm.model, llm.temperature), (None, Some(0.5)));
        call.fail(ReplyError::TimedOut);
    });
    answer.problem(ProblemCode::EngineTimeout);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_cut_off_is_retryable_and_a_malformed_one_is_not() {
    let cut = Always(|| Err(ReplyError::CutOff("cut".into())));
    let malformed = Always(|| Err(ReplyError::BadAnswer("malformed".into())));
    let plan = Plan::default().engine("cut", cut);
    let api = plan.engine("malformed", malformed).start().await;
    for (engine, retryable) in [("cut", true), ("malformed", false)] {
        let config = json!({"engine": engine});
        let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
        let command = json!({"agentId": agent, "message": "Hello"});
        let answer = api.writer().post("/api/chat", command).await;
        let problem = answer.problem(ProblemCode::EngineFailed);
        assert_eq!(problem["retryable"], retryable);
        let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
        assert_eq!(turn["error"]["retryable"], retryable);
    }
    api.stop().await;
}
