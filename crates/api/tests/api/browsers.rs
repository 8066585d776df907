//! Pages of other origins: what they may read, and what they are told.

use std::sync::Arc;

use domain::ProblemCode;
use serde_json::json;

use crate::{
    answer::{Answer, Request},
    harness::{Api, Plan},
    probe::{Misfortune, Probe},
};

const OURS: &str = "https://app.example.org";
const FOREIGN: &str = "https://evil.example.org";

async fn with_one_origin() -> Api {
    let plan = Plan::default().setting("SERVER__ALLOWED_ORIGINS", OURS);
    plan.start().await
}

fn from(request: Request, origin: &str) -> Request {
    request.header("Origin", origin)
}

async fn preflight(api: &Api, path: &str, origin: &str) -> Answer {
    from(api.anonymous().request("OPTIONS", path), origin)
        .header("Access-Control-Request-Method", "POST")
        .header(
            "Access-Control-Request-Headers",
            "x-api-key,idempotency-key",
        )
        .send()
        .await
}

#[track_caller]
fn assert_unshared(answer: &Answer) {
    assert!(
        !answer.has("access-control-allow-origin"),
        "{}",
        answer.status
    );
    assert_eq!(answer.header("vary"), "Origin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_needs_no_credential() {
    let api = with_one_origin().await;
    let answer = preflight(&api, "/api/agents", OURS).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), OURS);
    assert!(
        answer
            .header("access-control-allow-methods")
            .contains("PATCH")
    );
    let headers = answer.header("access-control-allow-headers").to_lowercase();
    for name in [
        "authorization",
        "x-api-key",
        "idempotency-key",
        "if-match",
        "content-type",
    ] {
        assert!(headers.contains(name), "{headers}");
    }
    assert!(!answer.has("access-control-allow-credentials"));
    assert!(answer.has("x-request-id") && answer.has("x-content-type-options"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_origin_gets_no_headers() {
    let api = with_one_origin().await;
    for origin in [
        FOREIGN,
        "null",
        "http://app.example.org",
        "https://app.example.org:444",
    ] {
        let answer = preflight(&api, "/api/agents", origin).await;
        assert_eq!(answer.status, 204);
        assert_unshared(&answer);
        let answer = from(api.reader().request("GET", "/api/agents"), origin)
            .send()
            .await;
        assert_eq!(answer.status, 200);
        assert_unshared(&answer);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_page_reads_refusals_too() {
    let api = with_one_origin().await;
    let cases = [
        (api.reader().request("GET", "/api/agents"), 200),
        (api.anonymous().request("GET", "/api/agents"), 401),
        (
            api.reader()
                .request("POST", "/api/agents")
                .json(&json!({"name": "Ada"})),
            403,
        ),
        (api.reader().request("GET", "/api/nothing"), 404),
        (api.reader().request("PUT", "/api/agents"), 405),
        (api.writer().request("POST", "/api/agents").body("{"), 400),
        (
            api.writer()
                .request("POST", "/api/agents")
                .raw_body("a")
                .header("Content-Type", "text/plain"),
            415,
        ),
    ];
    for (request, status) in cases {
        let answer = from(request, OURS).send().await;
        assert_eq!(answer.status, status);
        assert_eq!(
            answer.header("access-control-allow-origin"),
            OURS,
            "{status}"
        );
        let exposed = answer.header("access-control-expose-headers");
        for name in [
            "ETag",
            "RateLimit",
            "Retry-After",
            "X-Request-Id",
            "WWW-Authenticate",
        ] {
            assert!(exposed.contains(name), "{status}: {exposed}");
        }
        assert_eq!(answer.header("vary"), "Origin");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_configuration_no_page_reads_anything() {
    let api = Api::start().await;
    assert_unshared(&preflight(&api, "/api/agents", OURS).await);
    let answer = from(api.reader().request("GET", "/api/agents"), OURS)
        .send()
        .await;
    assert_unshared(&answer);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_another_site_is_refused_to_an_allowed_page() {
    let api = with_one_origin().await;
    let shop = vec!["https://shop.example".to_owned()];
    let caller = api.holder_with(|key| key.allowed_origins = shop).await;
    let answer = from(caller.request("GET", "/api/agents"), OURS)
        .send()
        .await;
    answer.problem(ProblemCode::OriginNotAllowed);
    // The page is told why.
    assert_eq!(answer.header("access-control-allow-origin"), OURS);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_page_reads_that_a_layer_panicked() {
    let probe = Arc::new(Probe::default());
    let over = Arc::clone(&probe);
    let plan = Plan::default()
        .setting("SERVER__ALLOWED_ORIGINS", OURS)
        .setting("SERVER__PUBLIC_URL", "https://agents.example.org")
        .over(move |storage| over.over(storage));
    let api = plan.start().await;
    probe.make("credentials.find", Misfortune::Panic);
    let ask = |origin| from(api.reader().request("GET", "/api/agents"), origin).send();
    let answer = ask(OURS).await;
    answer.problem(ProblemCode::Internal);
    assert_eq!(answer.header("access-control-allow-origin"), OURS);
    let exposed = answer.header("access-control-expose-headers");
    assert!(exposed.contains("X-Request-Id"), "{exposed}");
    assert_eq!(answer.header("vary"), "Origin");
    assert!(answer.has("strict-transport-security"), "{answer:?}");
    let answer = ask(FOREIGN).await;
    answer.problem(ProblemCode::Internal);
    assert_unshared(&answer);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_origins_are_none_that_may_read() {
    let api = with_one_origin().await;
    let request = from(api.reader().request("GET", "/api/agents"), OURS);
    let answer = from(request, OURS).send().await;
    answer.ok();
    assert_unshared(&answer);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_safe_by_its_headers() {
    let api = Api::start().await;
    for path in [
        "/",
        "/docs/",
        "/problems",
        "/livez",
        "/openapi.json",
        "/asyncapi.json",
        "/api/agents",
        "/nothing",
    ] {
        let answer = api.anonymous().get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("script-src 'unsafe"), "{path}: {policy}");
        assert!(!answer.has("strict-transport-security"), "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_tls_nothing_else_is_to_be_tried() {
    let plan = Plan::default().setting("SERVER__PUBLIC_URL", "https://agents.example.org");
    let api = plan.start().await;
    let answer = api.anonymous().get("/livez").await;
    assert!(
        answer
            .header("strict-transport-security")
            .starts_with("max-age=")
    );
    api.stop().await;
}
