//! The proxy `LiteLLM`, by itself and in front of another server. Its start is slow, so one test
//! does everything.

use std::time::Duration;

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServerBuilder,
    child_program::ChildProgram,
    fixture::{Fixture, KEY},
};

const REPLY: &str = "Good morning from elsewhere.";

/// The timeout of a test that hangs, on a slow and busy machine.
const STARTS: Duration = Duration::from_secs(110);

/// The server behind it, for replies that it cannot generate itself.
fn fixtures() -> Value {
    json!([
        {"match": {"userMessage": "piece by piece"}, "response": {"content": REPLY},
         "chunkSize": 5, "latency": 20},
        {"match": {"userMessage": "slowly"}, "response": {"content": REPLY.repeat(4)},
         "chunkSize": 1, "latency": 100},
        {"match": {"userMessage": "sum", "hasToolResult": false},
         "response": {"toolCalls": [
             {"name": "calculator", "arguments": "{\"expression\":\"6*7\"}"}]}},
        {"match": {"userMessage": "sum", "toolResultContains": "42"},
         "response": {"content": "It is forty-two."}},
    ])
}

fn configuration(behind: &str) -> Value {
    let model = |name: &str, parameters: Value| {
        let mut parameters = parameters;
        parameters["api_key"] = json!("none");
        parameters["model"] = json!("openai/mock");
        json!({"model_name": name, "litellm_params": parameters})
    };
    json!({
        "model_list": [
            model("made-up", json!({"mock_response": REPLY})),
            model("behind", json!({"api_base": format!("{behind}/v1")})),
            model("limited", json!({"mock_response": "litellm.RateLimitError"})),
            model("broken", json!({"mock_response": "litellm.InternalServerError"})),
            model("narrow", json!({"mock_response": "litellm.ContextWindowExceededError"})),
        ],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"num_retries": 0},
        "router_settings": {"num_retries": 0, "disable_cooldowns": true},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_replies_streams_calls_tools_and_fails_like_any_server() {
    let fixtures = fixtures().to_string();
    let mut behind = ChildProgram::start("aimock_server.mjs", &[&fixtures]);
    let url = behind.read_json().await["url"].clone();
    let configuration = configuration(url.as_str().expect("a URL")).to_string();
    let mut proxy = ChildProgram::start("litellm_server.py", &[&configuration]);
    let url = proxy.read_json_within(STARTS).await["url"].clone();
    let url = url.as_str().expect("a URL");
    let fixture = Fixture::start(url, "made-up").await;

    let agent = fixture.agent(json!({})).await;
    assert_eq!(fixture.answers(&agent, "hello").await["message"], REPLY);
    assert_eq!(fixture.streams(&agent, "hello").await.0["message"], REPLY);

    let through = fixture.agent(json!({"llm": {"model": "behind"}})).await;
    let (reply, pieces) = fixture.streams(&through, "piece by piece").await;
    assert_eq!(reply["message"], REPLY);
    assert!(pieces > 1, "it came in one piece");
    let reply = fixture.answers(&through, "sum").await;
    assert_eq!(reply["message"], "It is forty-two.");
    let turn = fixture.turn(&reply["turnId"]).await;
    assert_eq!(turn["toolCalls"][0]["status"], "ok", "{turn}");

    unsupported_requests_fail(&fixture).await;
    fixture.expect_interruption(json!({}), "hello").await;
    fixture.is_too_slow(json!({}), "hello").await;
    fixture.is_released(&through, "slowly").await;
    fixture.falls_back(json!({})).await;
    messages_are_translated(url).await;
}

/// The proxy translates Anthropic's messages to the interface of the server behind it.
async fn messages_are_translated(url: &str) {
    let builder = ApiServerBuilder::default().setting("LLM__KIND", "anthropic");
    let fixture = Fixture::start_with(builder, url, "made-up").await;
    let agent = fixture.agent(json!({})).await;
    assert_eq!(fixture.replies(&agent, "hello").await["message"], REPLY);
    let through = fixture.agent(json!({"llm": {"model": "behind"}})).await;
    let (reply, pieces) = fixture.streams(&through, "piece by piece").await;
    assert_eq!(reply["message"], REPLY);
    assert!(pieces > 1, "it came in one piece");
    let reply = fixture.replies(&through, "sum").await;
    assert_eq!(reply["message"], "It is forty-two.");
    let turn = fixture.turn(&reply["turnId"]).await;
    assert_eq!(turn["toolCalls"][0]["status"], "ok", "{turn}");
    unsupported_requests_fail(&fixture).await;
    fixture.api.stop().await;
}

/// Unsupported requests become problems.
async fn unsupported_requests_fail(fixture: &Fixture) {
    for (model, code) in [
        ("limited", ProblemCode::EngineUnavailable),
        ("broken", ProblemCode::EngineUnavailable),
        ("narrow", ProblemCode::EngineFailed),
        ("nowhere", ProblemCode::EngineFailed),
    ] {
        let agent = fixture.agent(json!({"llm": {"model": model}})).await;
        let response = fixture.expect_failure(&agent, "hello", code).await;
        if code == ProblemCode::EngineUnavailable {
            response.header("retry-after");
        }
    }
}
