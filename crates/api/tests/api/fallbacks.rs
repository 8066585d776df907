//! Fallback engines, and what clients learn about them.

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServerBuilder, id_of},
    engines::{contents, scripted_agent, turn},
    script::{FixedEngine, ImmediateEngine, scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn when_one_engine_fails_the_next_one_replies() {
    let (engine, mut script) = scripted();
    let refuses = FixedEngine(|| Err(ReplyError::Rejected("no".into())));
    let is_unavailable = FixedEngine(|| Err(ReplyError::Unavailable("gone".into())));
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let builder = builder
        .engine("refuses", refuses)
        .engine("away", is_unavailable);
    let api = builder.start().await;
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
    let response = api.writer().post("/api/chat", command).await;
    response.problem(ProblemCode::EngineUnavailable);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_listed_twice_is_called_once() {
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
    let (response, ()) = tokio::join!(writer.post("/api/chat", command), async {
        script.next_call().await.fail(ReplyError::TimedOut);
    });
    response.problem(ProblemCode::EngineTimeout);
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_partial_reply_of_a_cancelled_fallback_has_its_engine() {
    let (engine, mut script) = scripted();
    let refuses = FixedEngine(|| Err(ReplyError::Rejected("no".into())));
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let api = builder.engine("refuses", refuses).start().await;
    let config = json!({"engine": "refuses", "fallbacks": ["scripted"]});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let command = json!({"agentId": agent, "message": "Hello"});
    let writer = api.writer();
    let (response, ()) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        call.send_text("Well, ").await;
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        writer.request("POST", &path).send().await.ok();
    });
    let problem = response.problem(ProblemCode::TurnCancelled);
    let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
    assert_eq!(turn["reply"]["content"], "Well, ");
    assert_eq!(
        (&turn["engine"], &turn["degraded"]),
        (&json!("scripted"), &json!(true))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_circuit_uses_the_fallback_or_fails_at_once() {
    let away = FixedEngine(|| Err(ReplyError::Unavailable("gone".into())));
    let api = ApiServerBuilder::default()
        .engine("away", away)
        .start()
        .await;
    let agent_with = |fallbacks: &'static [&'static str]| {
        let config = json!({"engine": "away", "fallbacks": fallbacks, "fallbackReply": "Hm."});
        api.agent(json!({"name": "Ada", "config": config}))
    };
    let helped = id_of(&agent_with(&["rules"]).await);
    let command = json!({"agentId": helped, "message": "xyzzy"});
    // After so many failures the circuit is open.
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
    let response = api.writer().post("/api/chat", command).await;
    let problem = response.problem(ProblemCode::EngineUnavailable);
    let wait = problem["retryAfter"].as_i64().expect("a wait");
    assert!((1..=10).contains(&wait), "{problem}");
    let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
    assert_eq!(turn["error"]["retryAfter"], wait);
    // The message is not lost.
    let conversation = problem["conversationId"].as_str().unwrap();
    assert_eq!(contents(&api, conversation).await, ["xyzzy"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_immediate_engine_is_called_once_in_a_turn() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("quick", ImmediateEngine(engine));
    let api = builder.start().await;
    for (fallbacks, code) in [
        (json!([]), Some(ProblemCode::EngineTimeout)),
        (json!(["rules"]), None),
    ] {
        let config = json!({"engine": "quick", "fallbacks": fallbacks, "fallbackReply": "Hm."});
        let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
        let command = json!({"agentId": agent, "message": "xyzzy"});
        let writer = api.writer();
        let (response, ()) = tokio::join!(writer.post("/api/chat", command), async {
            script.next_call().await.fail(ReplyError::TimedOut);
        });
        match code {
            Some(code) => {
                let problem = response.problem(code);
                let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
                assert_eq!(turn["status"], "failed");
            }
            None => assert_eq!(response.json()["degraded"], true),
        }
        script.assert_no_more_calls();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_engine_is_503_and_nothing_is_stored() {
    let full = ImmediateEngine(FixedEngine(|| Err(ReplyError::Overloaded)));
    let api = ApiServerBuilder::default()
        .engine("full", full)
        .start()
        .await;
    let config = json!({"engine": "full"});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let command = json!({"agentId": agent, "message": "xyzzy"});
    let problem = api.writer().post("/api/chat", command).await;
    let problem = problem.problem(ProblemCode::Overloaded);
    assert_eq!(problem.get("turnId"), None);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_uses_the_model_of_the_operator_and_no_members_of_the_agent() {
    let (engine, mut script) = scripted();
    let (fallback, mut fallback_script) = scripted();
    let builder = ApiServerBuilder::default().engine("own", engine);
    let api = builder.engine("other", fallback).start().await;
    let llm = json!({"model": "large", "temperature": 0.5, "extraBody": {"top_k": 3}});
    let config = json!({"engine": "own", "fallbacks": ["other"], "llm": llm});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let command = json!({"agentId": agent, "message": "Hello"});
    let writer = api.writer();
    let (response, ()) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        let llm = call.request.agent.config.llm.clone().unwrap();
        assert_eq!(llm.model.as_deref(), Some("large"));
        assert!(llm.extra_body.is_some());
        call.fail(ReplyError::TimedOut);
        let call = fallback_script.next_call().await;
        let llm = call.request.agent.config.llm.clone().unwrap();
        assert_eq!((llm.model, llm.temperature), (None, Some(0.5)));
        assert_eq!(llm.extra_body, None);
        call.fail(ReplyError::TimedOut);
    });
    response.problem(ProblemCode::EngineTimeout);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_names_another_model_also_of_the_same_engine() {
    let (engine, mut script) = scripted();
    let (other, mut other_script) = scripted();
    let builder = ApiServerBuilder::default().engine("own", engine);
    let api = builder.engine("other", other).start().await;
    let config = json!({
        "engine": "own", "llm": {"model": "large", "extraBody": {"top_k": 3}},
        "fallbacks": [
            {"engine": "own", "model": "large"}, "own", {"engine": "own", "model": "small"},
            {"engine": "other", "model": "tiny"}, "other",
        ],
    });
    let agent = api.agent(json!({"name": "Ada", "config": config})).await;
    assert_eq!(agent["config"], config);
    let command = json!({"agentId": id_of(&agent), "message": "Hello"});
    let writer = api.writer();
    let (response, ()) = tokio::join!(writer.post("/api/chat", command), async {
        for (is_own, model) in [(true, "large"), (true, "small"), (false, "tiny")] {
            let script = if is_own {
                &mut script
            } else {
                &mut other_script
            };
            let call = script.next_call().await;
            let llm = call.request.agent.config.llm.clone().unwrap();
            assert_eq!(llm.model.as_deref(), Some(model));
            assert_eq!(llm.extra_body.is_some(), is_own, "{model}");
            if model == "tiny" {
                call.answer("Hi!").await;
            } else {
                call.fail(ReplyError::TimedOut);
            }
        }
    });
    let reply = response.ok();
    assert_eq!(reply["message"], "Hi!");
    assert_eq!(reply["engine"], "other");
    assert_eq!(reply["degraded"], true);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_reply_is_retryable_and_a_malformed_one_is_not() {
    let cut = FixedEngine(|| Err(ReplyError::CutOff("cut".into())));
    let malformed = FixedEngine(|| Err(ReplyError::InvalidReply("malformed".into())));
    let builder = ApiServerBuilder::default().engine("cut", cut);
    let api = builder.engine("malformed", malformed).start().await;
    for (engine, retryable) in [("cut", true), ("malformed", false)] {
        let config = json!({"engine": engine});
        let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
        let command = json!({"agentId": agent, "message": "Hello"});
        let response = api.writer().post("/api/chat", command).await;
        let problem = response.problem(ProblemCode::EngineFailed);
        assert_eq!(problem["retryable"], retryable);
        let turn = turn(&api, problem["turnId"].as_str().unwrap()).await;
        assert_eq!(turn["error"]["retryable"], retryable);
    }
    api.stop().await;
}
