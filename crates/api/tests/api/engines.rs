//! Chat with slow engines that the test controls.

use std::{net::TcpListener, time::Duration};

use domain::{FinishReason, ProblemCode, Usage};
use ports::{ModelChunk, ReplyError};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    script::{FixedEngine, ImmediateEngine, Script, ScriptedTools, TOOLS, scripted},
};

/// A service with the engine `scripted`, and an agent that uses it.
pub(crate) async fn scripted_agent(config: Value) -> (ApiServer, Script, String) {
    let (engine, script) = scripted();
    let api = ApiServerBuilder::default()
        .engine("scripted", engine)
        .tools(ScriptedTools)
        .start()
        .await;
    let mut config = config;
    config["engine"] = "scripted".into();
    let draft = json!({"name": "Ada", "capabilities": TOOLS, "config": config});
    let agent = id_of(&api.agent(draft).await);
    (api, script, agent)
}

pub(crate) async fn turn(api: &ApiServer, id: impl ToString) -> Value {
    api.reader()
        .get(&format!("/api/turns/{}", id.to_string()))
        .await
        .ok()
}

pub(crate) async fn contents(api: &ApiServer, conversation: &str) -> Vec<String> {
    let path = format!("/api/conversations/{conversation}/messages");
    let page = api.reader().get(&path).await.ok();
    let messages = page["data"].as_array().expect("a page").iter();
    messages
        .map(|message| message["content"].as_str().expect("text").to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn deltas_become_one_reply() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let command = json!({"agentId": agent, "message": "Hello", "userId": "bob"});
    let (reply, ()) = tokio::join!(api.chat(command), async {
        let call = script.next_call().await;
        assert_eq!(
            (&*call.request.message, call.request.turn_number),
            ("Hello", 0)
        );
        assert_eq!(call.request.user_id.as_deref(), Some("bob"));
        assert_eq!(call.request.agent.name, "Ada");
        assert_eq!(*call.request.history, []);
        let running = turn(&api, call.request.turn_id).await;
        assert_eq!(
            (&running["status"], &running["reply"]),
            (&json!("in_progress"), &Value::Null)
        );
        call.send_text("Good ").await;
        call.send_text("morning").await;
        let usage = Usage {
            input_tokens: 3,
            output_tokens: 2,
            ..Usage::default()
        };
        call.end_with(FinishReason::Length, Some(usage));
    });
    assert_eq!(reply["message"], "Good morning");
    assert_eq!(
        (&reply["engine"], &reply["degraded"]),
        (&json!("scripted"), &json!(false))
    );
    assert_eq!(reply["finishReason"], "length");
    assert_eq!(reply["usage"], json!({"inputTokens": 3, "outputTokens": 2}));
    let turn = turn(&api, reply["turnId"].as_str().unwrap()).await;
    assert_eq!(
        (&turn["status"], &turn["reply"]["content"]),
        (&json!("completed"), &reply["message"])
    );
    assert_eq!(turn["usage"], reply["usage"]);
    api.stop().await;
}

/// The failures of engines, and the resulting problems.
fn failures() -> Vec<(ReplyError, ProblemCode, Option<&'static str>)> {
    let cause = || "http://10.0.0.7 said: no".into();
    let retry_after = |milliseconds| Some(Duration::from_millis(milliseconds));
    vec![
        (
            ReplyError::Unavailable(cause()),
            ProblemCode::EngineUnavailable,
            Some("1"),
        ),
        (
            ReplyError::RateLimited {
                retry_after: retry_after(1_500),
            },
            ProblemCode::EngineUnavailable,
            Some("2"),
        ),
        (
            ReplyError::RateLimited { retry_after: None },
            ProblemCode::EngineUnavailable,
            Some("1"),
        ),
        (ReplyError::TimedOut, ProblemCode::EngineTimeout, None),
        (
            ReplyError::Rejected(cause()),
            ProblemCode::EngineFailed,
            None,
        ),
        (
            ReplyError::InvalidReply(cause()),
            ProblemCode::EngineFailed,
            None,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_returned_and_stored_with_or_without_text() {
    // The fallback must not run after the first text of another engine.
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let config = json!({"engine": "scripted", "fallbacks": ["rules"]});
    let talkative = id_of(&api.agent(json!({"name": "Bob", "config": config})).await);
    for speaks in [false, true] {
        let agent = if speaks { &talkative } else { &agent };
        for (error, code, retry_after) in failures() {
            let command = json!({"agentId": agent, "message": "Hello"});
            let writer = api.writer();
            let (response, turn_id) = tokio::join!(writer.post("/api/chat", command), async {
                let call = script.next_call().await;
                let turn_id = call.request.turn_id;
                if speaks {
                    call.send_text("Well, ").await;
                }
                call.fail(error);
                turn_id
            });
            let problem = response.problem(code);
            let received = response
                .headers
                .get("retry-after")
                .map(|it| it.to_str().unwrap());
            assert_eq!(received, retry_after, "{code:?}");
            let turn = turn(&api, turn_id).await;
            for problem in [&problem, &turn["error"]] {
                let received = problem["retryAfter"].as_i64().map(|it| it.to_string());
                assert_eq!(received.as_deref(), retry_after, "{problem}");
            }
            assert_eq!(problem["turnId"], turn["id"]);
            assert_eq!(problem["conversationId"], turn["conversationId"]);
            assert_eq!(
                (&turn["status"], &turn["reply"]),
                (&json!("failed"), &Value::Null)
            );
            assert_eq!(turn["error"]["code"], code.as_str());
            assert_eq!(turn["error"]["detail"], code.remedy());
            let conversation = turn["conversationId"].as_str().unwrap();
            assert_eq!(contents(&api, conversation).await, ["Hello"]);
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_without_an_end_is_malformed() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let writer = api.writer();
    let command = json!({"agentId": agent, "message": "Hello"});
    let (cut, ()) = tokio::join!(writer.post("/api/chat", command.clone()), async {
        let call = script.next_call().await;
        call.send_text("Half a sen").await;
        drop(call);
    });
    cut.problem(ProblemCode::EngineFailed);
    let (endless, ()) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        let quarter = "x".repeat(256 * 1024);
        for _ in 0..4 {
            call.send_text(&quarter).await;
        }
        call.send_text_ignoring_errors("x");
        call.wait_until_stopped().await;
    });
    endless.problem(ProblemCode::EngineFailed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_engine_is_stopped() {
    let (api, mut script, agent) = scripted_agent(json!({"timeoutMs": 100})).await;
    let writer = api.writer();
    let command = json!({"agentId": agent, "message": "Hello"});
    let (response, turn_id) = tokio::join!(writer.post("/api/chat", command), async {
        let call = script.next_call().await;
        call.wait_until_stopped().await;
        call.request.turn_id
    });
    response.problem(ProblemCode::EngineTimeout);
    let turn = turn(&api, turn_id).await;
    assert_eq!(
        (&turn["status"], &turn["error"]["code"]),
        (&json!("failed"), &json!("engine_timeout"))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_address_is_unreachable_is_not_available() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let api = ApiServerBuilder::default()
        .setting("LLM__BASE_URL", &format!("http://{address}/v1"))
        .setting("LLM__MODEL", "m")
        .start()
        .await;
    let engines = api.reader().get("/api/engines").await.ok();
    let expected = json!({"data": [
        {"name": "llm", "default": true, "available": false, "inputs": []},
        {"name": "rules", "default": false, "available": true, "inputs": []},
    ]});
    assert_eq!(engines, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_are_listed_with_the_default() {
    let empty = || {
        let end = ModelChunk::End {
            finish_reason: FinishReason::Stop,
            usage: None,
            model: None,
            state: None,
        };
        Ok(futures::StreamExt::boxed(futures::stream::iter([Ok(end)])))
    };
    let builder =
        ApiServerBuilder::default().engine("silence", ImmediateEngine(FixedEngine(empty)));
    let api = builder.setting("ENGINES__DEFAULT", "silence").start().await;
    let engines = api.reader().get("/api/engines").await.ok();
    let expected = json!({"data": [
        {"name": "rules", "default": false, "available": true, "inputs": []},
        {"name": "silence", "default": true, "available": true, "inputs": []},
    ]});
    assert_eq!(engines, expected);
    let capabilities = api.reader().get("/api/capabilities").await.ok();
    let listed = capabilities["data"].as_array().expect("a list");
    let of_each = listed
        .iter()
        .map(|it| (it["name"].clone(), it["kind"].clone()));
    let tools =
        ["calculator", "hand_over", "read_file", "time"].map(|name| (json!(name), json!("tool")));
    assert_eq!(of_each.collect::<Vec<_>>(), tools);
    assert!(listed.iter().all(|it| it["available"] == true));
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    assert_eq!(
        (&reply["engine"], &reply["message"]),
        (&json!("silence"), &json!(""))
    );
    api.stop().await;
}
