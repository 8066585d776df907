//! The server aimock, which imitates real servers and injects failures.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    child_program::ChildProgram,
    fixture::{Fixture, KEY},
};

const REPLY: &str = "Good morning! Your order is on its way, and will be with you tomorrow.";

/// Its responses by message.
fn fixtures() -> Value {
    let breaks = |message: &str, chaos: Value| {
        json!({
            "match": {"userMessage": message}, "response": {"content": REPLY}, "chaos": chaos,
        })
    };
    json!([
        {"match": {"userMessage": "hello"}, "response": {"content": REPLY}, "chunkSize": 5},
        {"match": {"userMessage": "piece by piece"}, "response": {"content": REPLY},
         "chunkSize": 5, "latency": 20},
        // Several seconds: a client without a wait disconnects earlier.
        {"match": {"userMessage": "slowly"}, "response": {"content": REPLY}, "chunkSize": 1,
         "latency": 100},
        {"match": {"userMessage": "sum", "hasToolResult": false},
         "response": {"toolCalls": [
             {"name": "calculator", "arguments": "{\"expression\":\"6*7\"}"}]}},
        {"match": {"userMessage": "sum", "toolResultContains": "42"},
         "response": {"content": "It is forty-two."}},
        {"match": {"userMessage": "at length"},
         "response": {"content": "Well, ", "finishReason": "length"}},
        {"match": {"userMessage": "often"},
         "response": {"error": {"message": KEY, "type": "rate_limit_error"}, "status": 429,
                      "retryAfter": 90}},
        {"match": {"userMessage": "forbidden"},
         "response": {"error": {"message": KEY, "type": "invalid_request_error"}, "status": 400}},
        {"match": {"userMessage": "breaks off"}, "response": {"content": REPLY},
         "chunkSize": 5, "truncateAfterChunks": 4, "latency": 20},
        breaks("garbled", json!({"malformedRate": 1})),
        breaks("dropped", json!({"dropRate": 1})),
        breaks("hangs up", json!({"disconnectRate": 1})),
        breaks("late", json!({"latencyMs": 30_000})),
    ])
}

async fn start() -> (ChildProgram, String, Fixture) {
    let fixtures = fixtures().to_string();
    let mut server = ChildProgram::start("aimock_server.mjs", &[&fixtures]);
    let url = server.read_json().await["url"]
        .as_str()
        .expect("a URL")
        .to_owned();
    let fixture = Fixture::start(&url, "gpt-mock").await;
    (server, url, fixture)
}

/// The requests that the server received, oldest first.
async fn received_requests(url: &str) -> Vec<Value> {
    let journal = reqwest::get(format!("{url}/__aimock/journal")).await;
    let journal: Value = journal.expect("an answer").json().await.expect("JSON");
    journal.as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_work_inline_and_streamed_with_openai_requests() {
    let (mut server, url, fixture) = start().await;
    let llm = json!({"temperature": 0.5, "maxOutputTokens": 300, "stop": ["END"]});
    let agent = fixture.agent(json!({"llm": llm})).await;
    let reply = fixture.answers(&agent, "hello").await;
    assert_eq!(reply["message"], REPLY);
    assert_eq!(reply["finishReason"], "stop");
    let (reply, pieces) = fixture.streams(&agent, "piece by piece").await;
    assert_eq!(reply["message"], REPLY);
    assert!(pieces > 1, "it came in one piece");
    let reply = fixture.answers(&agent, "at length").await;
    assert_eq!(reply["finishReason"], "length");
    for _ in 0..3 {
        assert_eq!(server.read_json().await, json!({"answer": "whole"}));
    }
    let asked = received_requests(&url).await;
    let body = &asked[0]["body"];
    assert_eq!(body["model"], "gpt-mock", "{body}");
    assert_eq!(body["stream"], true, "{body}");
    assert_eq!(body["stream_options"]["include_usage"], true, "{body}");
    assert_eq!(body["temperature"], 0.5, "{body}");
    assert_eq!(body["max_tokens"], 300, "{body}");
    assert_eq!(body["stop"], json!(["END"]), "{body}");
    let messages = body["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 2, "{body}");
    let system = messages[0]["content"].as_str().expect("text");
    assert!(
        system.contains("Ada") && !system.contains("hello"),
        "{system}"
    );
    assert_eq!(messages[1], json!({"role": "user", "content": "hello"}));
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_and_its_result_used() {
    let (_server, url, fixture) = start().await;
    let agent = fixture.agent(json!({})).await;
    let reply = fixture.answers(&agent, "sum").await;
    assert_eq!(reply["message"], "It is forty-two.");
    let turn = fixture.turn(&reply["turnId"]).await;
    let calls = turn["toolCalls"].as_array().expect("calls");
    assert_eq!(calls.len(), 1, "{turn}");
    assert_eq!(calls[0]["name"], "calculator", "{turn}");
    assert_eq!(
        calls[0]["arguments"],
        json!({"expression": "6*7"}),
        "{turn}"
    );
    assert_eq!(calls[0]["status"], "ok", "{turn}");
    let asked = received_requests(&url).await;
    let tools = asked[0]["body"]["tools"].as_array().expect("tools");
    // No tool implements the other capability.
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(tools[0]["function"]["name"], "calculator");
    fixture.streams(&agent, "sum").await;
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_stops_the_model() {
    let (mut server, _url, fixture) = start().await;
    let agent = fixture.agent(json!({})).await;
    fixture.is_released(&agent, "slowly").await;
    assert_eq!(server.read_json().await, json!({"answer": "cut"}));
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_server_become_problems() {
    let (_server, url, fixture) = start().await;
    let agent = fixture.agent(json!({"timeoutMs": 5_000})).await;
    let limited = fixture
        .expect_failure(&agent, "often", ProblemCode::EngineUnavailable)
        .await;
    assert_eq!(limited.header("retry-after"), "90");
    let limited = received_requests(&url).await.len();
    assert_eq!(
        limited, 1,
        "it is not retried before the time in Retry-After"
    );
    fixture
        .expect_failure(&agent, "forbidden", ProblemCode::EngineFailed)
        .await;
    let all = received_requests(&url).await.len();
    assert_eq!(all, 2, "what is refused is not repeated");
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_and_unfinished_replies_fail_in_time() {
    let (_server, url, fixture) = start().await;
    let agent = fixture.agent(json!({"timeoutMs": 20_000})).await;
    fixture
        .expect_failure(&agent, "garbled", ProblemCode::EngineFailed)
        .await;
    fixture
        .expect_failure(&agent, "breaks off", ProblemCode::EngineFailed)
        .await;
    let before = received_requests(&url).await.len();
    for message in ["dropped", "hangs up"] {
        fixture
            .expect_failure(&agent, message, ProblemCode::EngineUnavailable)
            .await;
    }
    // No text was sent, so each was retried twice.
    assert_eq!(received_requests(&url).await.len() - before, 6);
    let hasty = fixture.agent(json!({"timeoutMs": 1_000})).await;
    fixture
        .expect_failure(&hasty, "late", ProblemCode::EngineTimeout)
        .await;
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_and_hanging_connections_are_detected() {
    let (_server, _url, fixture) = start().await;
    fixture.expect_interruption(json!({}), "hello").await;
    fixture.is_too_slow(json!({}), "hello").await;
    fixture.falls_back(json!({})).await;
}
