//! `Idempotency-Key`: a repeated request receives the first response.

use domain::ProblemCode;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    agents::all_ids,
    api_server::{ApiServer, ApiServerBuilder, id_of},
    postgres::Database,
    response::{ApiResponse, Request},
};

/// The number of concurrent requests.
const MANY: usize = 20;

/// A request of the writer with the key `k`.
pub(crate) fn request_with_key(api: &ApiServer, path: &str) -> Request {
    let request = api.writer().request("POST", path);
    request.header("Idempotency-Key", "k")
}

pub(crate) async fn post(api: &ApiServer, path: &str, body: &Value) -> ApiResponse {
    request_with_key(api, path).json(body).send().await
}

/// Asserts that `again` repeats `first` byte for byte, and is marked as replayed.
pub(crate) fn assert_repeats(first: &ApiResponse, again: &ApiResponse) {
    assert_eq!(again.status, first.status, "{}", again.text());
    assert_eq!(again.text(), first.text());
    for name in ["content-type", "location", "etag", "cache-control"] {
        let (now, then) = (again.headers.get(name), first.headers.get(name));
        assert_eq!(now, then, "{name}");
    }
    assert!(!first.has("idempotency-replayed"), "{first:?}");
    assert_eq!(again.header("idempotency-replayed"), "true");
}

/// An agent with all members set.
fn rich_agent() -> Value {
    json!({
        "name": "Zoë 🦊",
        "capabilities": [" orders ", "返品"],
        "config": {
            "greeting": "Grüß dich!",
            "rules": [{"keywords": ["order"], "reply": "Which \"one\"?\n", "priority": -3}],
            "llm": {"temperature": 0.1, "topP": 0.300_000_000_000_000_04, "seed": 9_007_199_254_740_991_i64},
            "metadata": {"team": "blue", "a": "1"},
        },
    })
}

/// Creations of agents and conversations are replayed any number of times, after later changes and
/// after a restart.
async fn replays_creations(builder: ApiServerBuilder, builder_after_restart: ApiServerBuilder) {
    let api = builder.start().await;
    let agent = post(&api, "/api/agents", &rich_agent()).await;
    let path = agent.header("location").to_owned();
    assert_eq!((agent.status, agent.header("etag")), (201, "\"v1\""));
    assert_repeats(&agent, &post(&api, "/api/agents", &rich_agent()).await);
    let talk = json!({
        "agentId": id_of(&agent.json()), "userId": "bob", "metadata": {"z": "1", "shop": "7"},
    });
    let conversation = post(&api, "/api/conversations", &talk).await;
    let tag = conversation.header("etag");
    assert!(tag.starts_with("\"v1."), "{tag}");
    let again = post(&api, "/api/conversations", &talk).await;
    assert_repeats(&conversation, &again);

    api.writer()
        .patch(&path, json!({"name": "Grace"}))
        .await
        .ok();
    let title = json!({"title": "Changed"});
    let talk_path = conversation.header("location").to_owned();
    api.writer().patch(&talk_path, title).await.ok();
    assert_repeats(&agent, &post(&api, "/api/agents", &rich_agent()).await);
    let again = post(&api, "/api/conversations", &talk).await;
    assert_repeats(&conversation, &again);

    assert_eq!(api.writer().delete(&path).await.status, 204);
    let api = api.restart(builder_after_restart).await;
    assert_repeats(&agent, &post(&api, "/api/agents", &rich_agent()).await);
    let again = post(&api, "/api/conversations", &talk).await;
    assert_repeats(&conversation, &again);
    let none = Vec::<String>::new();
    assert_eq!(all_ids(&api.writer(), "/api/agents").await, none);
    assert_eq!(all_ids(&api.writer(), "/api/conversations").await, none);
    api.stop().await;
}

pub(crate) fn manager() -> Value {
    json!({"name": "Manager", "scopes": ["keys:admin"]})
}

/// A key set with one public key, distinguished by the digit.
pub(crate) fn key_set(digit: &str) -> Value {
    let x = format!("{}A", digit.repeat(42));
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": digit, "x": x}]})
}

pub(crate) fn signing_client() -> Value {
    json!({"name": "Signer", "scopes": ["agents:read"], "jwks": key_set("B")})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_is_replayed_unchanged() {
    let replayed = replays_creations(ApiServerBuilder::default(), ApiServerBuilder::default());
    Box::pin(replayed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_is_replayed_unchanged_in_postgres() {
    let database = Database::make().await;
    let builder = || ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    Box::pin(replays_creations(builder(), builder())).await;
}

/// Of many concurrent requests with one key, one takes effect, and all receive its response.
async fn takes_effect_once(builder: ApiServerBuilder) {
    let api = builder.start().await;
    let agent = json!({"agentId": api.agent_id().await});
    for (path, body) in [
        ("/api/agents", rich_agent()),
        ("/api/conversations", agent),
        ("/api/oauth-clients", signing_client()),
    ] {
        let before = all_ids(&api.writer(), path).await.len();
        let responses = join_all((0..MANY).map(|_| post(&api, path, &body))).await;
        let is_first = |response: &&ApiResponse| !response.has("idempotency-replayed");
        let (first, others): (Vec<_>, Vec<_>) = responses.iter().partition(is_first);
        assert_eq!((first.len(), others.len()), (1, MANY - 1), "{path}");
        first[0].created();
        for again in others {
            assert_repeats(first[0], again);
        }
        let after = all_ids(&api.writer(), path).await.len();
        assert_eq!(after, before + 1, "{path}");
    }
    let before = all_ids(&api.writer(), "/api/keys").await.len();
    let key = secret_of_concurrent_requests(&api, "/api/keys", &manager(), 201).await;
    let after = all_ids(&api.writer(), "/api/keys").await.len();
    assert_eq!(after, before + 1);
    let path = format!("/api/keys/{}/rotate", id_of(&key));
    let rotated = secret_of_concurrent_requests(&api, &path, &json!({}), 200).await;
    // After another rotation, this secret would be invalid.
    let holder = api.caller(rotated["secret"].as_str());
    holder.get("/api/limits").await.ok();
    api.stop().await;
}

/// The only response with the secret; all others contain the id and no secret.
async fn secret_of_concurrent_requests(
    api: &ApiServer,
    path: &str,
    body: &Value,
    status: u16,
) -> Value {
    let responses = join_all((0..MANY).map(|_| post(api, path, body))).await;
    let is_first = |response: &&ApiResponse| response.status == status;
    let (first, others): (Vec<_>, Vec<_>) = responses.iter().partition(is_first);
    assert_eq!((first.len(), others.len()), (1, MANY - 1), "{path}");
    let made = first[0].json();
    for again in others {
        assert_used_for(&id_of(&made), again);
    }
    made
}

/// Asserts that the response reports the key as used, and contains no secret.
pub(crate) fn assert_used_for(id: &str, response: &ApiResponse) {
    let problem = response.problem(ProblemCode::IdempotencyKeyUsed);
    let expected =
        format!("The key was used to create or rotate {id}, whose secret is shown only once.");
    assert_eq!(problem["detail"], expected);
    assert!(!response.has("idempotency-replayed"), "{response:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_concurrent_requests_take_effect_once() {
    takes_effect_once(ApiServerBuilder::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_concurrent_requests_take_effect_once_in_postgres() {
    let database = Database::make().await;
    let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    takes_effect_once(builder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_may_be_formatted_differently() {
    let api = ApiServer::start().await;
    let write = |body: &'static str, key: &str| {
        let request = api.writer().request("POST", "/api/agents");
        request.header("Idempotency-Key", key).body(body).send()
    };
    let body = r#"{"name":"Ada","config":{"metadata":{"a":"1","b":"2"},"timeoutMs":500}}"#;
    let first = write(body, "k-1").await;
    first.created();
    let other_order = r#"{ "config" : {"timeoutMs": 5e2, "metadata": {"b": "2", "a": "1"}},
        "personality": "", "name": "\u0041da" }"#;
    assert_repeats(&first, &write(other_order, "\"k-1\"").await);
    let other_value = r#"{"name":"Ada","config":{"metadata":{"a":"2","b":"1"},"timeoutMs":500}}"#;
    let rejected = write(other_value, "k-1").await;
    rejected.problem(ProblemCode::IdempotencyKeyReused);
    write(other_value, "k-2").await.created();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_key_is_reported_before_other_errors() {
    let api = ApiServer::start().await;
    let agent = id_of(
        &post(&api, "/api/agents", &json!({"name": "Ada"}))
            .await
            .created(),
    );
    for wrong in [
        json!({"name": "Bob", "config": {"engine": "oracle"}}),
        json!({"name": "Bob", "config": {"rules": [{"pattern": "(", "reply": "x"}]}}),
        json!({"name": "Bob", "capabilities": ["a", " a "]}),
    ] {
        let response = post(&api, "/api/agents", &wrong).await;
        response.problem(ProblemCode::IdempotencyKeyReused);
    }
    let path = "/api/conversations";
    post(&api, path, &json!({"agentId": agent})).await.created();
    let anonymous = json!({"agentId": "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11"});
    let response = post(&api, path, &anonymous).await;
    response.problem(ProblemCode::IdempotencyKeyReused);
    // Invalid requests have the usual errors.
    let response = post(&api, path, &json!({"agent": agent})).await;
    response.problem(ProblemCode::ValidationFailed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_without_an_effect_is_not_remembered() {
    let api = ApiServer::start().await;
    let invalid = json!({"name": "Ada", "config": {"engine": "oracle"}});
    for _ in 0..2 {
        let response = post(&api, "/api/agents", &invalid).await;
        response.problem(ProblemCode::UnknownEngine);
    }
    let response = post(&api, "/api/agents", &json!({"name": "Ada"})).await;
    response.created();
    assert!(!response.has("idempotency-replayed"), "{response:?}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_engine_does_not_prevent_a_replay() {
    let (engine, _script) = crate::script::scripted();
    let api = ApiServerBuilder::default()
        .engine("scripted", engine)
        .start()
        .await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let first = post(&api, "/api/agents", &draft).await;
    first.created();
    let api = api.restart(ApiServerBuilder::default()).await;
    let anew = api.writer().post("/api/agents", draft.clone()).await;
    anew.problem(ProblemCode::UnknownEngine);
    assert_repeats(&first, &post(&api, "/api/agents", &draft).await);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_keys_belong_to_their_caller() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "Ada"});
    let first = post(&api, "/api/agents", &draft).await;
    for other in [api.other_tenant(), api.caller_with_key(|_| {}).await] {
        let request = other.request("POST", "/api/agents");
        let request = request.header("Idempotency-Key", "k").json(&draft);
        let response = request.send().await;
        assert_ne!(response.created()["id"], first.created()["id"]);
        assert!(!response.has("idempotency-replayed"), "{response:?}");
    }
    let reader = api.reader().request("POST", "/api/agents");
    let response = reader.header("Idempotency-Key", "k").json(&draft);
    let rejected = response.send().await;
    rejected.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}
