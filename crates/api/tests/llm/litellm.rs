//! The proxy `LiteLLM`, by itself and in front of another server. Starting it takes its time, so one
//! test does everything.

use std::time::Duration;

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    ground::{Ground, KEY},
    partner::Partner,
};

const REPLY: &str = "Good morning from elsewhere.";

/// Long enough for a slow machine with much else to do.
const STARTS: Duration = Duration::from_secs(110);

/// What stands behind it for what it cannot make up itself.
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
async fn the_proxy_answers_streams_calls_tools_and_fails_as_any_server_does() {
    let fixtures = fixtures().to_string();
    let mut behind = Partner::start("aimock_server.mjs", &[&fixtures]);
    let url = behind.says().await["url"].clone();
    let configuration = configuration(url.as_str().expect("a URL")).to_string();
    let mut proxy = Partner::start("litellm_server.py", &[&configuration]);
    let url = proxy.says_within(STARTS).await["url"].clone();
    let ground = Ground::start(url.as_str().expect("a URL"), "made-up").await;

    let agent = ground.agent(json!({})).await;
    assert_eq!(ground.answers(&agent, "hello").await["message"], REPLY);
    assert_eq!(ground.streams(&agent, "hello").await.0["message"], REPLY);

    let through = ground.agent(json!({"llm": {"model": "behind"}})).await;
    let (reply, pieces) = ground.streams(&through, "piece by piece").await;
    assert_eq!(reply["message"], REPLY);
    assert!(pieces > 1, "it came in one piece");
    let reply = ground.answers(&through, "sum").await;
    assert_eq!(reply["message"], "It is forty-two.");
    let turn = ground.turn(&reply["turnId"]).await;
    assert_eq!(turn["toolCalls"][0]["status"], "ok", "{turn}");

    fails(&ground).await;
    ground.is_cut(json!({}), "hello").await;
    ground.is_too_slow(json!({}), "hello").await;
    ground.is_let_go(&through, "slowly").await;
    ground.ends_with_a_stand_in(json!({})).await;
}

/// What it cannot do is told in our words.
async fn fails(ground: &Ground) {
    for (model, code) in [
        ("limited", ProblemCode::EngineUnavailable),
        ("broken", ProblemCode::EngineUnavailable),
        ("narrow", ProblemCode::EngineFailed),
        ("nowhere", ProblemCode::EngineFailed),
    ] {
        let agent = ground.agent(json!({"llm": {"model": model}})).await;
        let answer = ground.fails(&agent, "hello", code).await;
        if code == ProblemCode::EngineUnavailable {
            answer.header("retry-after");
        }
    }
}
