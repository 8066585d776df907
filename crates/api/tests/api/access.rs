//! Authentication.

use std::time::{Duration, Instant};

use domain::{
    CredentialKind, CredentialSecret, ProblemCode, Scope, Timestamp,
    credential_secret::RANDOM_BYTES,
};
use insta::assert_snapshot;

use crate::{api_server::ApiServer, caller::Caller, raw};

const CHALLENGE: &str = "Bearer realm=\"agent-service\"";
const INVALID: &str = "Bearer realm=\"agent-service\", error=\"invalid_token\"";

/// A challenge in a response: it links to the metadata of the token issuer.
fn with_metadata_link(api: &ApiServer, challenge: &str) -> String {
    let (address, rest) = (api.address, challenge.trim_start_matches("Bearer "));
    format!(
        "Bearer resource_metadata=\"http://{address}/.well-known/oauth-protected-resource\", {rest}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_accepted_in_either_header() {
    let api = ApiServer::start().await;
    let key = api.reader().key().to_owned();
    for (name, value) in [
        ("X-API-Key", key.clone()),
        ("Authorization", format!("Bearer {key}")),
        ("authorization", format!("bearer {key}")),
    ] {
        let request = api.anonymous().request("GET", "/api/agents");
        request.header(name, &value).send().await.ok();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_credential_receives_a_challenge() {
    let api = ApiServer::start().await;
    let response = api.anonymous().get("/api/agents").await;
    assert_snapshot!(response.snapshot(), @r#"
    401 Unauthorized
    {
      "code": "unauthenticated",
      "detail": "Send an API key in `X-API-Key`, or a token in `Authorization: Bearer`.",
      "instance": "/api/agents",
      "requestId": "[id]",
      "retryable": false,
      "status": 401,
      "title": "A credential is needed.",
      "type": "/problems/unauthenticated"
    }
    "#);
    assert_eq!(
        response.header("www-authenticate"),
        with_metadata_link(&api, CHALLENGE)
    );
    // A key in the URL is not a credential: URLs are logged everywhere.
    let key = api.reader().key().to_owned();
    let response = api
        .anonymous()
        .get(&format!("/api/agents?api_key={key}"))
        .await;
    response.problem(ProblemCode::Unauthenticated);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_keys_are_rejected() {
    let api = ApiServer::start().await;
    let key = api.reader().key().to_owned();
    let mut mistyped = key.clone();
    let last = if key.ends_with('0') { '1' } else { '0' };
    mistyped.pop();
    mistyped.push(last);
    let unknown = CredentialSecret::mint(CredentialKind::Key, &[7; RANDOM_BYTES])
        .reveal()
        .to_owned();
    let id = CredentialSecret::parse(CredentialKind::Key, &key)
        .expect("a key")
        .id();
    let guessed = CredentialSecret::mint_for(CredentialKind::Key, &id, &[7; 32])
        .reveal()
        .to_owned();
    for (name, value) in [
        ("X-API-Key", mistyped),
        ("X-API-Key", unknown),
        ("X-API-Key", guessed),
        ("X-API-Key", String::new()),
        ("X-API-Key", format!("Bearer {key}")),
        ("Authorization", key.clone()),
        ("Authorization", format!("Basic {key}")),
        ("Authorization", "Bearer".to_owned()),
        ("Authorization", "Bearer ".to_owned()),
        ("Authorization", format!("Bearer {key} {key}")),
    ] {
        let request = api.anonymous().request("GET", "/api/agents");
        let response = request.header(name, &value).send().await;
        response.problem(ProblemCode::InvalidCredentials);
        assert_eq!(
            response.header("www-authenticate"),
            with_metadata_link(&api, INVALID),
            "{name}: {value}"
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_credentials_are_ambiguous() {
    let api = ApiServer::start().await;
    let key = api.reader().key().to_owned();
    let bearer = format!("Bearer {key}");
    for (first, second) in [
        (("X-API-Key", &key), ("Authorization", &bearer)),
        (("X-API-Key", &key), ("X-API-Key", &key)),
        (("Authorization", &bearer), ("Authorization", &bearer)),
    ] {
        let request = api.anonymous().request("GET", "/api/agents");
        let request = request.header(first.0, first.1).header(second.0, second.1);
        request
            .send()
            .await
            .problem(ProblemCode::AmbiguousCredentials);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_rejected_soon_and_for_good() {
    let api = ApiServer::start().await;
    let mut quickest = Duration::MAX;
    // A machine may stall for a second, but hardly at every attempt.
    for _ in 0..5 {
        let caller = api.caller_with_scopes(&[Scope::AgentsRead]).await;
        caller.get("/api/agents").await.ok();
        revoke_in_other_process(&api, &caller).await;
        quickest = quickest.min(until_refused(&caller).await);
        caller
            .get("/api/agents")
            .await
            .problem(ProblemCode::InvalidCredentials);
        if quickest.as_millis() < 1_000 {
            break;
        }
    }
    assert!(quickest.as_millis() < 1_000, "took {quickest:?}");
    api.reader().get("/api/agents").await.ok();
    api.stop().await;
}

/// Revokes a caller's key like another process.
async fn revoke_in_other_process(api: &ApiServer, caller: &Caller) {
    let (clock, _) = api::wiring::system();
    let secret = CredentialSecret::parse(CredentialKind::Key, caller.key());
    let id = secret.expect("a key").id();
    let tenant = "default".parse().expect("a tenant");
    let credentials = &api.storage.credentials;
    let revoked = credentials.revoke(CredentialKind::Key, &tenant, &id, clock.now());
    assert!(revoked.await.expect("the store is there"));
}

/// The time for which a caller is still authenticated.
async fn until_refused(caller: &Caller) -> Duration {
    let started = Instant::now();
    while caller.get("/api/agents").await.status == 200 {
        assert!(started.elapsed().as_secs() < 60, "the key is still good");
    }
    started.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_expires_on_time() {
    let api = ApiServer::start().await;
    let (clock, _) = api::wiring::system();
    let now = clock.now();
    let past = api.caller_with_key(|key| key.expires_at = Some(now)).await;
    past.get("/api/agents")
        .await
        .problem(ProblemCode::InvalidCredentials);
    // This also holds for remembered credentials.
    let (ending, end) = caller_with_expiring_key(&api).await;
    until_refused(&ending).await;
    assert!(clock.now() >= end);
    api.stop().await;
}

/// A caller with a key that expires soon, and its expiry.
async fn caller_with_expiring_key(api: &ApiServer) -> (Caller, Timestamp) {
    let (clock, _) = api::wiring::system();
    // The first duration suffices unless the machine stalls.
    for milliseconds in [1_500, 6_000, 24_000] {
        let end = clock.now() + Duration::from_millis(milliseconds);
        let caller = api.caller_with_key(|key| key.expires_at = Some(end)).await;
        if caller.get("/api/agents").await.status == 200 {
            return (caller, end);
        }
        assert!(clock.now() >= end, "the key has ended too early");
    }
    panic!("this machine is too slow for a key that ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_for_some_origins_is_rejected_from_others() {
    let api = ApiServer::start().await;
    let origins = vec!["https://shop.example".to_owned()];
    let caller = api
        .caller_with_key(|key| key.allowed_origins = origins)
        .await;
    let from = |origin: &'static str| {
        let request = caller.request("GET", "/api/agents");
        request.header("Origin", origin).send()
    };
    from("https://shop.example").await.ok();
    caller.get("/api/agents").await.ok();
    for origin in ["https://shop.example.evil", "http://shop.example", "null"] {
        from(origin).await.problem(ProblemCode::OriginNotAllowed);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_origin_is_rejected_for_keys_with_origins() {
    let api = ApiServer::start().await;
    let origins = vec!["https://shop.example".to_owned()];
    let caller = api
        .caller_with_key(|key| key.allowed_origins = origins)
        .await;
    let ours = b"Origin: https://shop.example\r\n".as_slice();
    for lines in [
        [ours, ours].concat(),
        [ours, b"Origin: https://evil.example\r\n"].concat(),
        b"Origin: https://shop.example\xff\r\n".to_vec(),
        b"Origin: \xff\r\n".to_vec(),
        b"Origin:\r\n".to_vec(),
    ] {
        let head = format!(
            "GET /api/agents HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-API-Key: {}\r\n",
            caller.key()
        );
        let mut connection = raw::Connection::open(api.address).await;
        connection
            .send([head.as_bytes(), &lines, b"\r\n"].concat())
            .await;
        let response = connection.answer_to("GET", "/api/agents").await;
        response.problem(ProblemCode::OriginNotAllowed);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_pages_ignore_credentials() {
    let api = ApiServer::start().await;
    for path in [
        "/livez",
        "/readyz",
        "/openapi.json",
        "/asyncapi.json",
        "/problems",
        "/docs/",
        "/",
    ] {
        let request = api.anonymous().request("GET", path);
        let response = request.header("X-API-Key", "nonsense").send().await;
        assert_eq!(response.status, 200, "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_scope_is_named_in_the_error() {
    let api = ApiServer::start().await;
    let response = api
        .reader()
        .post("/api/agents", serde_json::json!({"name": "Ada"}))
        .await;
    assert_snapshot!(response.snapshot(), @r#"
    403 Forbidden
    {
      "code": "insufficient_scope",
      "detail": "The credential needs the scope agents:write.",
      "instance": "/api/agents",
      "requestId": "[id]",
      "retryable": false,
      "status": 403,
      "title": "The credential does not allow this.",
      "type": "/problems/insufficient_scope"
    }
    "#);
    let challenge =
        "Bearer realm=\"agent-service\", error=\"insufficient_scope\", scope=\"agents:write\"";
    assert_eq!(
        response.header("www-authenticate"),
        with_metadata_link(&api, challenge)
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_routes_are_reported_without_credentials() {
    let api = ApiServer::start().await;
    let anonymous = api.anonymous();
    anonymous
        .get("/api/nothing")
        .await
        .problem(ProblemCode::RouteNotFound);
    let response = anonymous.request("PUT", "/api/agents").send().await;
    response.problem(ProblemCode::MethodNotAllowed);
    let response = anonymous.request("OPTIONS", "/api/agents").send().await;
    assert_eq!(response.status, 204);
    api.stop().await;
}
