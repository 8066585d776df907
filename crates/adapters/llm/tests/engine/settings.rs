//! What is asked for, and how.

use std::sync::Arc;

use contract::reply_engine::request;
use domain::LlmSettings;
use llm_engine::LlmReplyEngine;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    given::{KEY, given, hear, options},
    upstream::{Upstream, saying},
};

/// The body of a question of an agent with these settings, without its messages.
async fn asked(settings: Option<LlmSettings>) -> Value {
    let (upstream, engine) = given([saying("Hi")]).await;
    let mut request = request(0);
    Arc::make_mut(&mut request.agent).config.llm = settings;
    hear(&engine, request).await;
    let mut body = upstream.bodies().remove(0);
    body.as_object_mut().expect("an object").remove("messages");
    body
}

#[tokio::test]
async fn asks_the_operators_model_for_a_stream_and_its_usage() {
    let expected = json!({
        "model": "model-of-the-operator",
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(asked(None).await, expected);
    assert_eq!(asked(Some(LlmSettings::default())).await, expected);
}

#[tokio::test]
async fn asks_as_the_agent_wants() {
    let settings = LlmSettings {
        model: Some("model-of-the-agent".to_owned()),
        temperature: Some(-0.0),
        top_p: Some(0.5),
        max_output_tokens: Some(100),
        seed: Some(-9_007_199_254_740_991),
        stop: Some(vec!["END".to_owned()]),
    };
    let asked = asked(Some(settings)).await;
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
    assert_eq!(asked, expected);
    assert_eq!(asked["temperature"].to_string(), "0.0");
}

#[tokio::test]
async fn no_text_to_stop_at_is_not_sent() {
    let settings = LlmSettings {
        stop: Some(Vec::new()),
        ..LlmSettings::default()
    };
    assert!(asked(Some(settings)).await.get("stop").is_none());
}

#[tokio::test]
async fn the_key_is_a_bearer_token() {
    let (upstream, engine) = given([saying("Hi")]).await;
    hear(&engine, request(0)).await;
    let asked = upstream.asked().remove(0);
    assert_eq!(asked.line, "POST /v1/chat/completions");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(
        asked.header("accept"),
        Some("text/event-stream, application/json")
    );
}

#[tokio::test]
async fn an_empty_key_is_none() {
    let upstream = Upstream::answering([saying("Hi")]).await;
    let mut options = options(upstream.base_url());
    options.api_key = Some("".into());
    let engine = LlmReplyEngine::new(options).unwrap();
    hear(&engine, request(0)).await;
    assert_eq!(upstream.asked()[0].header("authorization"), None);
}

#[tokio::test]
async fn a_deployment_at_azure_has_the_key_in_a_header_of_its_own() {
    let upstream = Upstream::answering([saying("Hi")]).await;
    let base = upstream
        .base_url()
        .replace("/v1", "/openai/deployments/mine");
    let engine = LlmReplyEngine::new(options(base + "?api-version=2024-10-21")).unwrap();
    hear(&engine, request(0)).await;
    let asked = upstream.asked().remove(0);
    let expected = "POST /openai/deployments/mine/chat/completions?api-version=2024-10-21";
    assert_eq!(asked.line, expected);
    assert_eq!(asked.header("api-key"), Some(KEY));
    assert_eq!(asked.header("authorization"), None);
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
async fn asks_below_the_base_url(#[case] more: &str, #[case] expected: &str) {
    let upstream = Upstream::answering([saying("Hi")]).await;
    let mut options = options(upstream.base_url() + more);
    options.api_key = None;
    options.model = None;
    let engine = LlmReplyEngine::new(options).unwrap();
    hear(&engine, request(0)).await;
    let asked = upstream.asked().remove(0);
    assert_eq!(asked.line, expected);
    assert_eq!(asked.header("authorization"), None);
    assert!(asked.body.get("model").is_none());
}

#[tokio::test]
async fn asks_through_the_proxy_that_it_is_given() {
    let proxy = Upstream::answering([saying("Hi")]).await;
    let mut options = options("http://model.invalid/v1");
    let address = proxy.base_url().replace("http://", "http://ada:word@");
    options.proxy = Some(address.into());
    let engine = LlmReplyEngine::new(options).unwrap();
    assert_eq!(hear(&engine, request(0)).await.text(), "Hi");
    let asked = proxy.asked().remove(0);
    assert_eq!(asked.line, "POST http://model.invalid/v1/chat/completions");
    assert_eq!(
        asked.header("proxy-authorization"),
        Some("Basic YWRhOndvcmQ=")
    );
}
