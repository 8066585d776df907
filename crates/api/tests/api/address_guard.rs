//! The rate limit for unauthenticated requests of one address.

use std::time::Duration;

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    rate_limits::first_refusal,
    response::ApiResponse,
};

/// An address limit with this burst that restores nothing while a test runs.
pub(crate) fn server_with_address_limit(burst: &str) -> ApiServerBuilder {
    ApiServerBuilder::default()
        .setting("LIMITS__ADDRESS__PER_MINUTE", "1")
        .setting("LIMITS__ADDRESS__BURST", burst)
}

#[track_caller]
pub(crate) fn assert_rejected(response: &ApiResponse) {
    let problem = response.problem(ProblemCode::RateLimited);
    assert_eq!(problem["violatedPolicies"], json!(["address"]));
    let wait: u64 = response.header("retry-after").parse().expect("seconds");
    assert!((30..=60).contains(&wait), "{wait}");
    for absent in ["ratelimit", "ratelimit-policy", "x-ratelimit-after"] {
        assert!(!response.has(absent), "{response:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_keys_is_stopped_without_affecting_known_callers() {
    let api = server_with_address_limit("4").start().await;
    // It is verified now, and remembered from then on.
    api.reader().get("/api/engines").await.ok();
    let guesser = api.caller(Some("agk_nonsense"));
    for _ in 0..3 {
        let response = guesser.get("/api/engines").await;
        response.problem(ProblemCode::InvalidCredentials);
    }
    let rejected = guesser.get("/api/engines").await;
    assert_snapshot!(rejected.snapshot(), @r#"
    429 Too Many Requests
    {
      "code": "rate_limited",
      "detail": "Wait for the seconds in `retryAfter`.",
      "instance": "/api/engines",
      "requestId": "[id]",
      "retryAfter": "[seconds]",
      "retryable": true,
      "status": 429,
      "title": "Too many requests.",
      "type": "/problems/rate_limited",
      "violatedPolicies": [
        "address"
      ]
    }
    "#);
    assert_rejected(&rejected);
    for _ in 0..3 {
        api.reader().get("/api/engines").await.ok();
    }
    // It would have to be verified first.
    assert_rejected(&api.writer().get("/api/engines").await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_credential_count_too() {
    let api = server_with_address_limit("3").start().await;
    let anonymous = api.anonymous();
    anonymous.get("/problems").await.ok();
    let nothing = anonymous.get("/api/agents").await;
    nothing.problem(ProblemCode::Unauthenticated);
    let head = anonymous.request("HEAD", "/openapi.json").send().await;
    assert_eq!(head.status, 200);
    for path in ["/problems", "/api/agents", "/docs", "/", "/openapi.json"] {
        assert_rejected(&anonymous.get(path).await);
    }
    for sign in ["/livez", "/readyz"] {
        anonymous.get(sign).await.ok();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_retry_after_one_more_request_is_allowed() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__ADDRESS__PER_MINUTE", "120")
        .setting("LIMITS__ADDRESS__BURST", "1")
        .start()
        .await;
    let rejected = first_refusal(&api.anonymous(), "/problems").await;
    assert_eq!(
        rejected.header("retry-after"),
        "1",
        "half a second, rounded up"
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    api.anonymous().get("/problems").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_workers_count_together() {
    let api = server_with_address_limit("6")
        .setting("SERVER__WORKERS", "2")
        .start()
        .await;
    let callers: [_; 12] = std::array::from_fn(|_| api.anonymous());
    let requests = callers.iter().map(|caller| caller.get("/problems"));
    let responses = futures::future::join_all(requests).await;
    let admitted = responses
        .iter()
        .filter(|response| response.status == 200)
        .count();
    assert_eq!((admitted, responses.len()), (6, 12));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_can_read_the_rejection() {
    let api = server_with_address_limit("1")
        .setting("SERVER__ALLOWED_ORIGINS", "https://shop.example")
        .start()
        .await;
    let ask = || {
        let request = api.anonymous().request("GET", "/problems");
        request.header("Origin", "https://shop.example").send()
    };
    ask().await.ok();
    let rejected = ask().await;
    assert_rejected(&rejected);
    assert_eq!(
        rejected.header("access-control-allow-origin"),
        "https://shop.example"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_endpoint_reports_the_address_limit() {
    let api: ApiServer = server_with_address_limit("7").start().await;
    let received = api.reader().get("/api/limits").await.ok();
    let quota = json!({"perMinute": 1, "burst": 7});
    assert_eq!(received["rates"]["address"], quota);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_caller_stays_known_when_other_credentials_are_revoked() {
    let api = server_with_address_limit("3").start().await;
    let (reader, writer) = (api.reader(), api.writer());
    reader.get("/api/engines").await.ok();
    let draft = json!({"name": "ci", "scopes": ["agents:read"]});
    let made = writer.post("/api/keys", draft).await.created();
    let id = made["id"].as_str().expect("an id");
    let taken_back = api.caller(made["secret"].as_str());
    taken_back.get("/api/agents").await.ok();
    assert_rejected(&api.anonymous().get("/problems").await);
    // From now on every credential is checked again.
    let revoked = writer.delete(&format!("/api/keys/{id}")).await;
    assert_eq!(revoked.status, 204);
    reader.get("/api/engines").await.ok();
    // A known caller whose credential is rejected is no longer known.
    let rejected = taken_back.get("/api/agents").await;
    rejected.problem(ProblemCode::InvalidCredentials);
    assert_rejected(&taken_back.get("/api/agents").await);
    api.stop().await;
}
