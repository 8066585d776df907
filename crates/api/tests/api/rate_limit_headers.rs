//! The headers of rate limits.

use std::sync::Arc;

use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    rate_limits::remaining_and_reset,
    response::{ApiResponse, Request},
    storage_probe::{InjectedFault, StorageProbe},
};

/// Requests with different kinds of responses, by status.
async fn requests_of_every_kind(api: &ApiServer, agent: &str, tag: &str) -> Vec<(u16, Request)> {
    let writer = api.writer();
    let ask = |method: &str, path: &str| writer.request(method, path);
    let draft = || ask("POST", "/api/agents");
    let origins = vec!["https://shop.example".to_owned()];
    let page = api
        .caller_with_key(|key| key.allowed_origins = origins)
        .await;
    let foreign = page.request("GET", agent);
    let long = format!("/api/agents?name={}", "x".repeat(9_000));
    vec![
        (200, ask("GET", agent)),
        (200, ask("HEAD", agent)),
        (201, draft().json(&json!({"name": "B"}))),
        (204, ask("OPTIONS", agent)),
        (304, ask("GET", agent).header("If-None-Match", tag)),
        (400, draft().body("{")),
        (403, api.reader().request("DELETE", agent)),
        (403, foreign.header("Origin", "https://evil.example")),
        (404, ask("GET", "/api/agents/7")),
        (404, ask("GET", "/api/nothing")),
        (405, ask("DELETE", "/api/agents")),
        (406, ask("GET", agent).header("Accept", "image/png")),
        (412, ask("DELETE", agent).header("If-Match", "\"v9\"")),
        (413, draft().body("x".repeat(300_000))),
        (414, ask("GET", &long)),
        (415, draft().raw_body("name=Ada")),
        (422, draft().json(&json!({}))),
        (204, ask("DELETE", agent)),
    ]
}

#[track_caller]
fn assert_counted(response: &ApiResponse, status: u16) {
    assert_eq!(response.status, status);
    let policy = response.header("ratelimit-policy");
    assert_eq!(policy, r#""requests";q=100000000;w=60"#, "{status}");
    remaining_and_reset(response, "requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_authenticated_response_has_rate_limit_headers() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let builder =
        ApiServerBuilder::default().wrap_storage(move |storage| wrapped.wrap_storage(storage));
    let api = builder.start().await;
    let agent = format!("/api/agents/{}", api.agent_id().await);
    let read = api.writer().get(&agent).await;
    for (status, request) in requests_of_every_kind(&api, &agent, read.header("etag")).await {
        assert_counted(&request.send().await, status);
    }
    for (status, fault) in [
        (500, InjectedFault::Corrupt),
        (500, InjectedFault::Panic),
        (503, InjectedFault::Unavailable),
    ] {
        probe.inject("agents.list", fault);
        assert_counted(&api.writer().get("/api/agents").await, status);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unauthenticated_responses_have_no_rate_limit_headers() {
    let api = ApiServer::start().await;
    let unknown = api.caller(Some("agk_nonsense"));
    for response in [
        api.anonymous().get("/api/agents").await,
        unknown.get("/api/agents").await,
        api.anonymous().get("/problems").await,
        // Public paths ignore credentials.
        api.reader().get("/problems").await,
        api.reader().get("/livez").await,
    ] {
        assert!(!response.has("ratelimit"), "{response:?}");
        assert!(!response.has("ratelimit-policy"), "{response:?}");
    }
    api.stop().await;
}
