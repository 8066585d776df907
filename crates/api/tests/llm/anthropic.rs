//! The engine `llm` with Anthropic's API: against aimock, which imitates it, and against a server that keeps what it
//! receives.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServerBuilder, id_of},
    child_program::ChildProgram,
    fixture::{Fixture, KEY},
    upstream::{Upstream, call_block, message, text_block, thinking_block},
};

const REPLY: &str = "Good morning! Your order is on its way, and will be with you tomorrow.";

/// The beginning of a PNG image, and its Base64.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";
const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAAA=";

fn builder() -> ApiServerBuilder {
    ApiServerBuilder::default().setting("LLM__KIND", "anthropic")
}

/// The responses of aimock by message.
fn fixtures() -> Value {
    let call = json!([{"name": "calculator", "arguments": "{\"expression\":\"6*7\"}"}]);
    json!([
        {"match": {"userMessage": "hello"}, "response": {"content": REPLY}, "chunkSize": 5},
        {"match": {"userMessage": "piece by piece"}, "chunkSize": 5, "latency": 20,
         "response": {"content": REPLY, "reasoning": "The user wants pieces."}},
        {"match": {"userMessage": "slowly"}, "response": {"content": REPLY}, "chunkSize": 1, "latency": 100},
        {"match": {"userMessage": "sum", "hasToolResult": false}, "response": {"toolCalls": call}},
        {"match": {"userMessage": "sum", "toolResultContains": "42"},
         "response": {"content": "It is forty-two."}},
        {"match": {"userMessage": "at length"},
         "response": {"content": "Well, ", "finishReason": "length"}},
        {"match": {"userMessage": "often"},
         "response": {"error": {"message": KEY, "type": "rate_limit_error"}, "status": 429,
                      "retryAfter": 90}},
        {"match": {"userMessage": "forbidden"},
         "response": {"error": {"message": KEY, "type": "invalid_request_error"}, "status": 400}},
        {"match": {"userMessage": "overloaded"},
         "response": {"error": {"message": KEY, "type": "overloaded_error"}, "status": 529}},
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imitation_replies_streams_calls_tools_and_fails() {
    let fixtures = fixtures().to_string();
    let mut server = ChildProgram::start("aimock_server.mjs", &[&fixtures]);
    let url = server.read_json().await["url"].clone();
    let url = url.as_str().expect("a URL");
    let fixture = Fixture::start_with(builder(), url, "claude-mock").await;
    let agent = fixture.agent(json!({})).await;
    let reply = fixture.replies(&agent, "hello").await;
    assert_eq!(
        (&reply["message"], &reply["finishReason"]),
        (&json!(REPLY), &json!("stop"))
    );
    let (reply, pieces) = fixture.streams(&agent, "piece by piece").await;
    assert_eq!(reply["message"], REPLY);
    assert!(pieces > 1, "it came in one piece");
    let reply = fixture.replies(&agent, "at length").await;
    assert_eq!(reply["finishReason"], "length");
    let reply = fixture.replies(&agent, "sum").await;
    assert_eq!(reply["message"], "It is forty-two.");
    let turn = fixture.turn(&reply["turnId"]).await;
    assert_eq!(turn["toolCalls"][0]["status"], "ok", "{turn}");
    for (message, code) in [
        ("often", ProblemCode::EngineUnavailable),
        ("overloaded", ProblemCode::EngineUnavailable),
        ("forbidden", ProblemCode::EngineFailed),
    ] {
        fixture.expect_failure(&agent, message, code).await;
    }
    fixture.expect_interruption(json!({}), "hello").await;
    fixture.is_released(&agent, "slowly").await;
    fixture.falls_back(json!({})).await;
}

/// A model that thinks, calls a tool, and replies with JSON.
async fn thinking_model() -> Upstream {
    let thinking = thinking_block(0, &["The parcel ", "has 6 * 7 pieces."], "c2lnbmF0dXJl");
    let call = call_block(
        1,
        "toolu_1",
        "calculator",
        &["{\"expression\":", "\"6*7\"}"],
    );
    let output = text_block(0, &["{\"total\":", " 42}"]);
    Upstream::start([
        message("tool_use", &[thinking, call]),
        message("end_turn", &[output]),
    ])
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_pictures_schemas_and_reasoning_reach_the_model() {
    let upstream = thinking_model().await;
    let url = upstream.base_url();
    let url = url.strip_suffix("/v1").expect("a version");
    let builder = builder().setting("LLM__INPUTS", "image,pdf");
    let fixture = Fixture::start_with(builder, url, "claude-test").await;
    let schema = json!({"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"], "additionalProperties": false});
    let llm = json!({"reasoningEffort": "medium", "showReasoning": "staff", "temperature": 0.5});
    let agent = fixture
        .agent(json!({"llm": llm, "responseSchema": schema}))
        .await;
    let writer = fixture.api.writer();
    let photo = writer.request("POST", "/api/files").raw_body(PNG.to_vec());
    let photo = photo.header("Content-Type", "image/png").send().await;
    let photo = id_of(&photo.created());
    let chat = json!({"agentId": agent, "message": "How many pieces?", "files": [photo]});
    let reply = writer.post("/api/chat", chat).await.ok();
    assert_eq!(reply["output"], json!({"total": 42}), "{reply}");
    let usage = json!({"inputTokens": 18, "outputTokens": 10});
    assert_eq!(reply["usage"], usage, "{reply}");
    let turn = fixture.turn(&reply["turnId"]).await;
    assert_eq!(turn["toolCalls"][0]["status"], "ok", "{turn}");
    assert_eq!(turn["reasoning"], "The parcel has 6 * 7 pieces.", "{turn}");
    fixture.api.stop().await;

    let [first, second] = &upstream.bodies()[..] else {
        panic!("two requests")
    };
    check_first_body(first, &schema);
    check_second_body(first, second);
}

fn check_first_body(first: &Value, schema: &Value) {
    assert_eq!(first["model"], "claude-test");
    assert!(first.get("temperature").is_none(), "{first}");
    assert_eq!(
        first["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    let format = json!({"type": "json_schema", "schema": schema});
    assert_eq!(
        first["output_config"],
        json!({"effort": "medium", "format": format})
    );
    assert_eq!(first["tools"][0]["name"], "calculator");
    let source = json!({"type": "base64", "media_type": "image/png", "data": PNG_BASE64});
    let asked = json!([{"role": "user", "content": [
        {"type": "image", "source": source},
        {"type": "text", "text": "How many pieces?", "cache_control": {"type": "ephemeral"}},
    ]}]);
    assert_eq!(first["messages"], asked);
}

/// It continues the first one with the call and its result.
fn check_second_body(first: &Value, second: &Value) {
    for member in [
        "model",
        "system",
        "tools",
        "thinking",
        "output_config",
        "max_tokens",
    ] {
        assert_eq!(first[member], second[member]);
    }
    let added = &second["messages"].as_array().expect("messages")[1..];
    let expected = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "The parcel has 6 * 7 pieces.", "signature": "c2lnbmF0dXJl"},
            {"type": "tool_use", "id": "toolu_1", "name": "calculator", "input": {"expression": "6*7"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "{\"data\":\"42\",\"status\":\"ok\"}", "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(json!(added), expected);
}
