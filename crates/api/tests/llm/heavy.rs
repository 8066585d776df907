//! llama.cpp with a model that is made on the spot: what it says makes no sense, but it says it as
//! llama.cpp does. Building it takes long, so `cargo xtask test --heavy` alone runs this.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{ground::Ground, harness::Plan, partner::Partner};

/// Long enough for a slow machine with much else to do.
const STARTS: Duration = Duration::from_mins(1);

/// The server, and where it is. Its chats have this format.
async fn start(format: &str) -> (Partner, String) {
    let mut server = Partner::start("llama_server.py", &[format]);
    let said = server.says_within(STARTS).await;
    let url = said["url"].as_str().expect("a URL").to_owned();
    (server, url)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "heavy: needs a server that is built from its source"]
async fn llama_cpp_answers_streams_and_is_let_go() {
    let (_server, url) = start("chatml").await;
    let ground = Ground::start(&url, "tiny").await;
    let brief = json!({"llm": {"maxOutputTokens": 12, "temperature": 1.0, "seed": 7}});
    let agent = ground.agent(brief).await;
    let reply = ground.replies(&agent, "hello").await;
    // It counts no tokens of what it streams.
    assert_eq!(reply["usage"], Value::Null, "{reply}");
    assert_eq!(reply["finishReason"], "length", "{reply}");
    assert_ne!(reply["message"], "", "{reply}");
    // Long enough that not all of it can be there at once.
    let long = json!({"llm": {"maxOutputTokens": 300, "temperature": 1.0, "seed": 7}});
    let (reply, pieces) = ground.streams(&ground.agent(long).await, "hello").await;
    assert_eq!(reply["finishReason"], "length", "{reply}");
    assert!(pieces > 1, "it came in one piece: {reply}");

    let wordy = json!({"llm": {"maxOutputTokens": 4_000, "temperature": 1.0, "seed": 7}});
    let agent = ground.agent(wordy.clone()).await;
    ground.is_cut(wordy["llm"].clone(), "hello").await;
    ground.is_let_go(&agent, "hello").await;
    ground.is_too_slow(wordy["llm"].clone(), "hello").await;
    ground.ends_with_a_stand_in(json!({})).await;
}

/// It calls no tools in a stream, refuses a call told back to it without text beside it, and does
/// not show the model what the tool answered: this one calls whenever it may.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "heavy: needs a server that is built from its source"]
async fn llama_cpp_calls_tools_where_answers_come_whole() {
    let (_server, url) = start("chatml-function-calling").await;
    let plan = Plan::default().setting("LLM__STREAM", "false");
    let ground = Ground::start_with(plan, &url, "tiny").await;
    let brief = json!({"llm": {"maxOutputTokens": 12, "temperature": 1.0, "seed": 7}});
    let agent = ground.agent(brief).await;
    let reply = ground.answers(&agent, "hello").await;
    assert_eq!(reply["finishReason"], "length", "{reply}");
    assert_ne!(reply["message"], "", "{reply}");
    let turn = ground.turn(&reply["turnId"]).await;
    let calls = turn["toolCalls"].as_array().expect("calls");
    assert_eq!(calls.len(), 8, "{turn}");
    for call in calls {
        assert_eq!(call["name"], "calculator", "{turn}");
        assert!(call["arguments"]["expression"].is_string(), "{turn}");
        assert_eq!(call["status"], "invalid_arguments", "{turn}");
    }
    let (reply, pieces) = ground.streams(&agent, "hello").await;
    assert_eq!((&reply["finishReason"], pieces), (&json!("length"), 1));
    ground.api.stop().await;
}
