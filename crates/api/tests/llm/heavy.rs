//! llama.cpp with a generated model: its replies make no sense, but have llama.cpp's format. The
//! build takes long, so only `cargo xtask test --heavy` runs this.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{api_server::ApiServerBuilder, child_program::ChildProgram, fixture::Fixture};

/// The timeout of a test that hangs, on a slow and busy machine.
const STARTS: Duration = Duration::from_mins(1);

/// The server, and its URL. Its chats have this format.
async fn start(format: &str) -> (ChildProgram, String) {
    let mut server = ChildProgram::start("llama_server.py", &[format]);
    let contents = server.read_json_within(STARTS).await;
    let url = contents["url"].as_str().expect("a URL").to_owned();
    (server, url)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "heavy: needs a server that is built from its source"]
async fn llama_cpp_replies_streams_and_is_released() {
    let (_server, url) = start("chatml").await;
    let fixture = Fixture::start(&url, "tiny").await;
    let brief = json!({"llm": {"maxOutputTokens": 12, "temperature": 1.0, "seed": 7}});
    let agent = fixture.agent(brief).await;
    let reply = fixture.replies(&agent, "hello").await;
    // It counts no tokens of streams.
    assert_eq!(reply["usage"], Value::Null, "{reply}");
    assert_eq!(reply["finishReason"], "length", "{reply}");
    assert_ne!(reply["message"], "", "{reply}");
    // Long enough that the reply is not complete at once.
    let long = json!({"llm": {"maxOutputTokens": 300, "temperature": 1.0, "seed": 7}});
    let (reply, pieces) = fixture.streams(&fixture.agent(long).await, "hello").await;
    assert_eq!(reply["finishReason"], "length", "{reply}");
    assert!(pieces > 1, "it came in one piece: {reply}");

    let wordy = json!({"llm": {"maxOutputTokens": 4_000, "temperature": 1.0, "seed": 7}});
    let agent = fixture.agent(wordy.clone()).await;
    fixture
        .expect_interruption(wordy["llm"].clone(), "hello")
        .await;
    fixture.is_released(&agent, "hello").await;
    fixture.is_too_slow(wordy["llm"].clone(), "hello").await;
    fixture.falls_back(json!({})).await;
}

/// It calls no tools in a stream, rejects a repeated call without text, and does not pass tool
/// results to the model: this model calls a tool whenever it may.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "heavy: needs a server that is built from its source"]
async fn llama_cpp_calls_tools_in_inline_replies() {
    let (_server, url) = start("chatml-function-calling").await;
    let builder = ApiServerBuilder::default().setting("LLM__STREAM", "false");
    let fixture = Fixture::start_with(builder, &url, "tiny").await;
    let brief = json!({"llm": {"maxOutputTokens": 12, "temperature": 1.0, "seed": 7}});
    let agent = fixture.agent(brief).await;
    let reply = fixture.answers(&agent, "hello").await;
    assert_eq!(reply["finishReason"], "length", "{reply}");
    assert_ne!(reply["message"], "", "{reply}");
    let turn = fixture.turn(&reply["turnId"]).await;
    let calls = turn["toolCalls"].as_array().expect("calls");
    assert_eq!(calls.len(), 8, "{turn}");
    for call in calls {
        assert_eq!(call["name"], "calculator", "{turn}");
        assert!(call["arguments"]["expression"].is_string(), "{turn}");
        assert_eq!(call["status"], "invalid_arguments", "{turn}");
    }
    let (reply, pieces) = fixture.streams(&agent, "hello").await;
    assert_eq!((&reply["finishReason"], pieces), (&json!("length"), 1));
    fixture.api.stop().await;
}
