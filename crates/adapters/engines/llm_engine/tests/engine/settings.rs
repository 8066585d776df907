//! The parameters and headers of requests.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::{LlmSettings, ReasoningEffort};
use llm_engine::{LlmOptions, LlmReplyEngine};
use ports::ReplyEngine as _;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    fixture::{KEY, collect_reply, fixture, options},
    upstream::{Upstream, text_stream},
};

/// Returns the body of a request of an agent with these settings, without its messages.
async fn request_body(settings: Option<LlmSettings>) -> Value {
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = settings;
    collect_reply(&engine, request).await;
    let mut body = upstream.bodies().remove(0);
    body.as_object_mut().expect("an object").remove("messages");
    body
}

#[tokio::test]
async fn the_default_request_has_the_operators_model_and_a_stream_with_usage() {
    let expected = json!({
        "model": "model-of-the-operator",
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(request_body(None).await, expected);
    assert_eq!(request_body(Some(LlmSettings::default())).await, expected);
}

#[tokio::test]
async fn the_agents_settings_are_sent() {
    let settings = LlmSettings {
        model: Some("model-of-the-agent".to_owned()),
        temperature: Some(-0.0),
        top_p: Some(0.5),
        max_output_tokens: Some(100),
        seed: Some(-9_007_199_254_740_991),
        stop: Some(vec!["END".to_owned()]),
        ..LlmSettings::default()
    };
    let body = request_body(Some(settings)).await;
    let expected = json!({
        "model": "model-of-the-agent",
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 100,
        "seed": -9_007_199_254_740_991_i64,
        "stop": ["END"],
    });
    assert_eq!(body, expected);
    assert_eq!(body["temperature"].to_string(), "0.0");
}

#[tokio::test]
async fn permitted_members_are_added_to_the_body() {
    let members = json!({"top_k": 20, "min_p": 0.1, "n": 3, "model": "another", "stream": false});
    let settings = LlmSettings {
        reasoning_effort: Some(ReasoningEffort::Low),
        extra_body: members.as_object().cloned(),
        ..LlmSettings::default()
    };
    let expected = json!({
        "model": "model-of-the-operator",
        "stream": true,
        "stream_options": {"include_usage": true},
        "reasoning_effort": "low",
        "top_k": 20,
        "min_p": 0.1,
    });
    assert_eq!(request_body(Some(settings)).await, expected);
}

#[tokio::test]
async fn members_that_the_operator_does_not_permit_are_faults() {
    let mut options = options("http://localhost/v1");
    let mut config = Arc::unwrap_or_clone(request(0).agent).config;
    let members = json!({"top_k": 20, "a/b": 1, "service_tier": "priority"});
    config.llm = Some(LlmSettings {
        extra_body: members.as_object().cloned(),
        ..LlmSettings::default()
    });
    let pointers = |options: &LlmOptions| {
        let engine = LlmReplyEngine::new(options.clone()).unwrap();
        let faults = engine.faults(&config).into_iter();
        faults.map(|it| it.pointer).collect::<Vec<_>>()
    };
    let at = |name: &str| format!("/config/llm/extraBody/{name}");
    assert_eq!(pointers(&options), [at("a~1b"), at("service_tier")]);
    options.extra_body = Some(vec!["service_tier".to_owned(), "a/b".to_owned()]);
    assert_eq!(pointers(&options), [at("top_k")]);
    options.extra_body = Some(vec!["top_k".to_owned(), "messages".to_owned()]);
    let refused = LlmReplyEngine::new(options).err().unwrap().to_string();
    assert!(refused.contains("'messages'"), "{refused}");
}

#[tokio::test]
async fn an_empty_stop_list_is_not_sent() {
    let settings = LlmSettings {
        stop: Some(Vec::new()),
        ..LlmSettings::default()
    };
    assert!(request_body(Some(settings)).await.get("stop").is_none());
}

#[tokio::test]
async fn the_key_is_a_bearer_token() {
    let (upstream, engine) = fixture([text_stream("Hi")]).await;
    collect_reply(&engine, request(0)).await;
    let received = upstream.requests().remove(0);
    assert_eq!(received.line, "POST /v1/chat/completions");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(received.header("authorization"), Some(bearer.as_str()));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(
        received.header("accept"),
        Some("text/event-stream, application/json")
    );
}

#[tokio::test]
async fn an_empty_key_is_not_sent() {
    let upstream = Upstream::start([text_stream("Hi")]).await;
    let mut options = options(upstream.base_url());
    options.api_key = Some("".into());
    let engine = LlmReplyEngine::new(options).unwrap();
    collect_reply(&engine, request(0)).await;
    assert_eq!(upstream.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn an_azure_deployment_receives_the_key_in_its_own_header() {
    let upstream = Upstream::start([text_stream("Hi")]).await;
    let base = upstream
        .base_url()
        .replace("/v1", "/openai/deployments/mine");
    let engine = LlmReplyEngine::new(options(base + "?api-version=2024-10-21")).unwrap();
    collect_reply(&engine, request(0)).await;
    let received = upstream.requests().remove(0);
    let expected = "POST /openai/deployments/mine/chat/completions?api-version=2024-10-21";
    assert_eq!(received.line, expected);
    assert_eq!(received.header("api-key"), Some(KEY));
    assert_eq!(received.header("authorization"), None);
}

#[rstest]
#[case("", "POST /v1/chat/completions")]
#[case("/", "POST /v1/chat/completions")]
#[case("/chat/completions", "POST /v1/chat/completions")]
#[case(
    "/openai/?api-version=preview",
    "POST /v1/openai/chat/completions?api-version=preview"
)]
#[tokio::test]
async fn requests_go_to_a_path_below_the_base_url(#[case] more: &str, #[case] expected: &str) {
    let upstream = Upstream::start([text_stream("Hi")]).await;
    let mut options = options(upstream.base_url() + more);
    options.api_key = None;
    options.model = None;
    let engine = LlmReplyEngine::new(options).unwrap();
    collect_reply(&engine, request(0)).await;
    let received = upstream.requests().remove(0);
    assert_eq!(received.line, expected);
    assert_eq!(received.header("authorization"), None);
    assert!(received.body.get("model").is_none());
}

#[tokio::test]
async fn the_model_of_an_agent_is_its_own_or_the_operators() {
    let mut agent = Arc::unwrap_or_clone(request(0).agent);
    let mut options = options("http://localhost/v1");
    let engine = LlmReplyEngine::new(options.clone()).unwrap();
    assert_eq!(
        engine.model(&agent).as_deref(),
        Some("model-of-the-operator")
    );
    agent.config.llm = Some(LlmSettings {
        model: Some("own".to_owned()),
        ..LlmSettings::default()
    });
    assert_eq!(engine.model(&agent).as_deref(), Some("own"));
    agent.config.llm = None;
    options.model = None;
    let engine = LlmReplyEngine::new(options).unwrap();
    assert_eq!(engine.model(&agent), None);
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    let proxy = Upstream::start([text_stream("Hi")]).await;
    let mut options = options("http://model.invalid/v1");
    let address = proxy.base_url().replace("http://", "http://ada:word@");
    options.proxy = Some(address.into());
    let engine = LlmReplyEngine::new(options).unwrap();
    assert_eq!(collect_reply(&engine, request(0)).await.text(), "Hi");
    let received = proxy.requests().remove(0);
    assert_eq!(
        received.line,
        "POST http://model.invalid/v1/chat/completions"
    );
    assert_eq!(
        received.header("proxy-authorization"),
        Some("Basic YWRhOndvcmQ=")
    );
}

#[tokio::test]
async fn a_schema_is_the_response_format() {
    let (upstream, engine) = fixture([text_stream("{}")]).await;
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let mut request = request(0);
    request.response_schema = serde_json::from_value(schema.clone()).ok();
    collect_reply(&engine, request).await;
    let expected = json!({
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": schema, "strict": true},
    });
    assert_eq!(upstream.bodies().remove(0)["response_format"], expected);
}
