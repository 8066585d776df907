//! Pages of other origins: readable responses and error messages.

use std::sync::Arc;

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    response::{ApiResponse, Request},
    storage_probe::{InjectedFault, StorageProbe},
};

const OURS: &str = "https://app.example.org";
const FOREIGN: &str = "https://evil.example.org";

async fn with_one_origin() -> ApiServer {
    let builder = ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", OURS);
    builder.start().await
}

fn from(request: Request, origin: &str) -> Request {
    request.header("Origin", origin)
}

async fn preflight(api: &ApiServer, path: &str, origin: &str) -> ApiResponse {
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
fn assert_unshared(response: &ApiResponse) {
    assert!(
        !response.has("access-control-allow-origin"),
        "{}",
        response.status
    );
    assert_eq!(response.header("vary"), "Origin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_needs_no_credential() {
    let api = with_one_origin().await;
    let response = preflight(&api, "/api/agents", OURS).await;
    assert_eq!(response.status, 204);
    assert_eq!(response.header("access-control-allow-origin"), OURS);
    assert!(
        response
            .header("access-control-allow-methods")
            .contains("PATCH")
    );
    let headers = response
        .header("access-control-allow-headers")
        .to_lowercase();
    for name in [
        "authorization",
        "x-api-key",
        "idempotency-key",
        "if-match",
        "content-disposition",
        "content-type",
    ] {
        assert!(headers.contains(name), "{headers}");
    }
    assert!(!response.has("access-control-allow-credentials"));
    assert!(response.has("x-request-id") && response.has("x-content-type-options"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disallowed_origin_gets_no_headers() {
    let api = with_one_origin().await;
    for origin in [
        FOREIGN,
        "null",
        "http://app.example.org",
        "https://app.example.org:444",
    ] {
        let response = preflight(&api, "/api/agents", origin).await;
        assert_eq!(response.status, 204);
        assert_unshared(&response);
        let response = from(api.reader().request("GET", "/api/agents"), origin)
            .send()
            .await;
        assert_eq!(response.status, 200);
        assert_unshared(&response);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_page_can_read_errors() {
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
        let response = from(request, OURS).send().await;
        assert_eq!(response.status, status);
        assert_eq!(
            response.header("access-control-allow-origin"),
            OURS,
            "{status}"
        );
        let exposed = response.header("access-control-expose-headers");
        for name in [
            "ETag",
            "RateLimit",
            "Retry-After",
            "X-Request-Id",
            "WWW-Authenticate",
        ] {
            assert!(exposed.contains(name), "{status}: {exposed}");
        }
        assert_eq!(response.header("vary"), "Origin");
    }
    api.stop().await;
}

/// Lists, and origins that they allow.
const LISTED: &[(&str, &[&str])] = &[
    ("https://app.example.org", &["https://app.example.org"]),
    (
        "tauri://localhost,capacitor://localhost,ionic://localhost,app://obsidian.md",
        &[
            "tauri://localhost",
            "capacitor://localhost",
            "ionic://localhost",
            "app://obsidian.md",
        ],
    ),
    (
        "chrome-extension://cjpalhdlnbpafiamejdnhcphjbkeiagm",
        &["chrome-extension://cjpalhdlnbpafiamejdnhcphjbkeiagm"],
    ),
    (
        "https://*.preview.example.org",
        &[
            "https://a.preview.example.org",
            "https://pull-7.preview.example.org",
        ],
    ),
    ("null", &["null"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn origins_of_apps_and_of_one_more_label_are_allowed_if_they_are_listed() {
    for (list, allowed) in LISTED {
        let builder = ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", list);
        let api = builder.start().await;
        let others = LISTED.iter().flat_map(|(_, origins)| *origins);
        let more = [
            "https://preview.example.org",
            "https://a.b.preview.example.org",
        ];
        for origin in others.chain(&more) {
            let asked = preflight(&api, "/api/agents", origin).await;
            let read = from(api.reader().request("GET", "/api/agents"), origin);
            for response in [asked, read.send().await] {
                if allowed.contains(origin) {
                    assert_eq!(response.header("access-control-allow-origin"), *origin);
                } else {
                    assert_unshared(&response);
                }
            }
        }
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_accepted_from_the_origins_that_its_list_allows() {
    let api = with_one_origin().await;
    for (list, allowed) in LISTED {
        let list = list.split(',').map(str::to_owned).collect();
        let caller = api.caller_with_key(|key| key.allowed_origins = list).await;
        for origin in LISTED.iter().flat_map(|(_, origins)| *origins) {
            let response = from(caller.request("GET", "/api/agents"), origin)
                .send()
                .await;
            if allowed.contains(origin) {
                response.ok();
            } else {
                let problem = response.problem(ProblemCode::OriginNotAllowed);
                let detail = problem["detail"].as_str().expect("a detail");
                assert!(
                    detail.contains("`allowedOrigins` of the credential"),
                    "{detail}"
                );
            }
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_may_send_the_headers_of_monitoring_scripts_and_those_of_the_setting() {
    let allowed_headers = async |api: ApiServer| {
        let response = preflight(&api, "/api/chat", OURS).await;
        let listed = response
            .header("access-control-allow-headers")
            .to_lowercase();
        api.stop().await;
        listed.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    let usual = allowed_headers(with_one_origin().await).await;
    for name in [
        "traceparent",
        "tracestate",
        "baggage",
        "sentry-trace",
        "newrelic",
        "x-datadog-trace-id",
        "x-datadog-parent-id",
        "x-datadog-origin",
        "x-datadog-sampling-priority",
        "b3",
        "request-id",
        "x-requested-with",
        "ngrok-skip-browser-warning",
    ] {
        assert!(
            usual.iter().any(|listed| listed == name),
            "{name}: {usual:?}"
        );
    }
    let builder = ApiServerBuilder::default()
        .setting("SERVER__ALLOWED_ORIGINS", OURS)
        .setting("SERVER__ALLOWED_HEADERS", "X-Trace-Hint, x-tenant");
    let extended = allowed_headers(builder.start().await).await;
    assert_eq!(
        extended,
        [usual, vec!["x-trace-hint".into(), "x-tenant".into()]].concat()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_configuration_no_page_can_read_responses() {
    let api = ApiServer::start().await;
    assert_unshared(&preflight(&api, "/api/agents", OURS).await);
    let response = from(api.reader().request("GET", "/api/agents"), OURS)
        .send()
        .await;
    assert_unshared(&response);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_site_is_rejected_for_an_allowed_page() {
    let api = with_one_origin().await;
    let shop = vec!["https://shop.example".to_owned()];
    let caller = api.caller_with_key(|key| key.allowed_origins = shop).await;
    let response = from(caller.request("GET", "/api/agents"), OURS)
        .send()
        .await;
    response.problem(ProblemCode::OriginNotAllowed);
    // The page can read the error.
    assert_eq!(response.header("access-control-allow-origin"), OURS);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_page_can_read_the_error_of_a_panicked_layer() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let builder = ApiServerBuilder::default()
        .setting("SERVER__ALLOWED_ORIGINS", OURS)
        .setting("SERVER__PUBLIC_URL", "https://agents.example.org")
        .wrap_storage(move |storage| wrapped.wrap_storage(storage));
    let api = builder.start().await;
    probe.inject("credentials.find", InjectedFault::Panic);
    let ask = |origin| from(api.reader().request("GET", "/api/agents"), origin).send();
    let response = ask(OURS).await;
    response.problem(ProblemCode::Internal);
    assert_eq!(response.header("access-control-allow-origin"), OURS);
    let exposed = response.header("access-control-expose-headers");
    assert!(exposed.contains("X-Request-Id"), "{exposed}");
    assert_eq!(response.header("vary"), "Origin");
    assert!(response.has("strict-transport-security"), "{response:?}");
    let response = ask(FOREIGN).await;
    response.problem(ProblemCode::Internal);
    assert_unshared(&response);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_origin_headers_allow_nothing() {
    let api = with_one_origin().await;
    let request = from(api.reader().request("GET", "/api/agents"), OURS);
    let response = from(request, OURS).send().await;
    response.ok();
    assert_unshared(&response);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_security_headers() {
    let api = ApiServer::start().await;
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
        let response = api.anonymous().get(path).await;
        assert_eq!(
            response.header("x-content-type-options"),
            "nosniff",
            "{path}"
        );
        assert_eq!(response.header("referrer-policy"), "no-referrer", "{path}");
        let policy = response.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("script-src 'unsafe"), "{path}: {policy}");
        assert!(!response.has("strict-transport-security"), "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_tls_responses_require_https() {
    let builder =
        ApiServerBuilder::default().setting("SERVER__PUBLIC_URL", "https://agents.example.org");
    let api = builder.start().await;
    let response = api.anonymous().get("/livez").await;
    assert!(
        response
            .header("strict-transport-security")
            .starts_with("max-age=")
    );
    api.stop().await;
}
