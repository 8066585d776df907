//! Who answers in place of an engine that does not, and what is told of it.

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    engines::{contents, scripted_agent, turn},
    harness::{Plan, id_of},
    script::{Always, scripted},
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
