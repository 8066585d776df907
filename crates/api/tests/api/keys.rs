//! `/api/keys`: creating, listing, rotating and revoking keys.

use domain::{CredentialKind, CredentialSecret, ProblemCode, Scope, Timestamp};
use serde_json::{Value, json};

use crate::{
    agents::all_ids,
    api_server::{ApiServer, id_of},
    caller::Caller,
    response::ApiResponse,
};

/// A key, created with the API.
pub(crate) async fn create_key(caller: &Caller, draft: Value) -> Value {
    caller.post("/api/keys", draft).await.created()
}

fn secret_of(made: &Value) -> &str {
    made["secret"].as_str().expect("a secret")
}

fn path_of(made: &Value) -> String {
    format!("/api/keys/{}", id_of(made))
}

fn now() -> Timestamp {
    api::wiring::system().0.now()
}

pub(crate) fn faults(response: &ApiResponse) -> Vec<(String, String)> {
    response.problem(ProblemCode::ValidationFailed);
    response.faults()
}

pub(crate) fn fault(pointer: &str, code: &str) -> (String, String) {
    (pointer.to_owned(), code.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_shown_once_with_its_secret_and_then_without() {
    let api = ApiServer::start().await;
    let before = now();
    let draft = json!({"name": "ci", "scopes": ["agents:read"]});
    let response = api.writer().post("/api/keys", draft).await;
    let mut key = response.created();
    let secret = CredentialSecret::parse(CredentialKind::Key, secret_of(&key)).expect("a key");
    assert_eq!(response.header("location"), path_of(&key));
    assert_eq!(response.header("cache-control"), "no-store");
    assert!(!response.has("etag"));
    let created_at = Timestamp::parse(key["createdAt"].as_str().expect("a time"));
    assert!((before..=now()).contains(&created_at.expect("a time")));
    let created_at = key["createdAt"].take();
    key["secret"].take();
    assert_eq!(
        key,
        json!({
            "id": secret.id(), "name": "ci", "last4": secret.last4(), "scopes": ["agents:read"],
            "createdAt": null, "expiresAt": null, "lastUsedAt": null, "revokedAt": null,
            "allowedOrigins": [], "limits": {}, "secret": null,
        })
    );
    key.as_object_mut().expect("a key").remove("secret");
    key["createdAt"] = created_at;
    let read = api.writer().get(response.header("location")).await;
    assert_eq!(read.ok(), key);
    assert_eq!(read.header("cache-control"), "no-store");
    assert!(!read.has("etag") && !read.has("x-event-seq"));
    let listed = api.writer().get("/api/keys").await;
    assert_eq!(listed.ok()["data"][0], key);
    assert!(!listed.text().contains("secret"), "{}", listed.text());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_grants_its_scopes() {
    let api = ApiServer::start().await;
    let key = create_key(
        &api.writer(),
        json!({"name": "ci", "scopes": ["agents:read"]}),
    )
    .await;
    let holder = api.caller(Some(secret_of(&key)));
    holder.get("/api/agents").await.ok();
    let rejected = holder.post("/api/agents", json!({"name": "Ada"})).await;
    rejected.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_stored_as_sent() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": " Zoë's 🦊 ",
        "scopes": ["keys:admin", "agents:read"],
        "expiresAt": "2999-01-31T01:00:00+01:00",
        "allowedOrigins": ["https://shop.example:8443", "http://[::1]:5173"],
        "limits": {"requestsPerMinute": 60, "chatBurst": 1, "streams": 0},
    });
    let key = create_key(&api.writer(), draft.clone()).await;
    for member in ["name", "allowedOrigins", "limits"] {
        assert_eq!(key[member], draft[member], "{member}");
    }
    assert_eq!(key["expiresAt"], "2999-01-31T00:00:00.000Z");
    assert_eq!(key["scopes"], json!(["agents:read", "keys:admin"]), "a set");
    assert_eq!(
        api.writer().get(&path_of(&key)).await.ok()["limits"],
        draft["limits"]
    );
    let from = |origin: &'static str| {
        let request = api
            .caller(Some(secret_of(&key)))
            .request("GET", "/api/agents");
        request.header("Origin", origin).send()
    };
    from("https://shop.example:8443").await.ok();
    from("https://shop.example")
        .await
        .problem(ProblemCode::OriginNotAllowed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_cannot_manage_keys_with_more_scopes_than_their_own() {
    let api = ApiServer::start().await;
    let manager = api
        .caller_with_scopes(&[Scope::KeysAdmin, Scope::AgentsRead])
        .await;
    let more = json!({"name": "ci", "scopes": ["agents:read", "agents:write", "metrics:read"]});
    let greater = create_key(&api.writer(), more.clone()).await;
    let path = path_of(&greater);
    let refusals = [
        manager.post("/api/keys", more).await,
        manager.post(&format!("{path}/rotate"), json!({})).await,
        manager.delete(&path).await,
    ];
    for response in refusals {
        let problem = response.problem(ProblemCode::InsufficientScope);
        assert_eq!(
            problem["detail"],
            "The credential needs agents:write and metrics:read."
        );
        let challenge = response.header("www-authenticate");
        assert!(
            challenge
                .ends_with("error=\"insufficient_scope\", scope=\"agents:write metrics:read\""),
            "{challenge}"
        );
    }
    // The caller may see the key, which is unchanged.
    let read = manager.get(&path).await.ok();
    assert_eq!(read["revokedAt"], Value::Null);
    let holder = api.caller(Some(secret_of(&greater)));
    holder.get("/api/agents").await.ok();
    let own = json!({"name": "ci", "scopes": ["agents:read", "keys:admin"]});
    let own = path_of(&create_key(&manager, own).await);
    let rotate = manager.post(&format!("{own}/rotate"), json!({})).await;
    rotate.ok();
    assert_eq!(manager.delete(&own).await.status, 204);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_creates_one_key_and_shows_its_secret_once() {
    let api = ApiServer::start().await;
    let create = |draft: Value| {
        let request = api.writer().request("POST", "/api/keys");
        request.header("Idempotency-Key", "k-1").json(&draft).send()
    };
    let draft = json!({"name": "ci", "scopes": ["agents:read"]});
    let key = create(draft.clone()).await.created();
    let again = create(draft).await;
    let problem = again.problem(ProblemCode::IdempotencyKeyUsed);
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains(&id_of(&key)), "{detail}");
    assert!(!again.text().contains("agk_"), "{}", again.text());
    let other = create(json!({"name": "cd", "scopes": ["agents:read"]})).await;
    other.problem(ProblemCode::IdempotencyKeyReused);
    let listed = api.writer().get("/api/keys").await;
    assert_eq!(listed.text().matches("\"ci\"").count(), 1);
    assert_eq!(listed.text().matches("\"cd\"").count(), 0);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_shows_each_key_of_the_tenant_once_newest_first() {
    let api = ApiServer::start().await;
    let mut expected = all_ids(&api.writer(), "/api/keys").await;
    for name in ["a", "b", "c", "d", "e"] {
        let draft = json!({"name": name, "scopes": ["agents:read"]});
        expected.push(id_of(&create_key(&api.writer(), draft).await));
    }
    let paged = all_ids(&api.writer(), "/api/keys?limit=2").await;
    assert_eq!(paged, all_ids(&api.writer(), "/api/keys").await);
    let newest: Vec<&String> = expected.iter().rev().take(5).collect();
    let mut times = Vec::new();
    for id in &paged {
        let key = api.writer().get(&format!("/api/keys/{id}")).await.ok();
        times.push(key["createdAt"].as_str().expect("a time").to_owned());
    }
    assert!(times.is_sorted_by(|one, next| one >= next), "{times:?}");
    assert!(newest.iter().all(|id| paged[..5].contains(id)), "{paged:?}");
    assert_eq!(paged.len(), expected.len());
    let foreign = all_ids(&api.other_tenant(), "/api/keys").await;
    assert_eq!(foreign.len(), 1, "its own alone");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_belongs_to_its_kind_and_tenant() {
    let api = ApiServer::start().await;
    let page = api.writer().get("/api/keys?limit=1").await.ok();
    let cursor = page["nextCursor"].as_str().expect("a second page");
    for (caller, path) in [
        (api.writer(), format!("/api/oauth-clients?cursor={cursor}")),
        (api.writer(), format!("/api/agents?cursor={cursor}")),
        (api.other_tenant(), format!("/api/keys?cursor={cursor}")),
        (api.writer(), format!("/api/keys?cursor={cursor}x")),
    ] {
        caller.get(&path).await.problem(ProblemCode::InvalidCursor);
    }
    let response = api.writer().get("/api/keys?limit=0&name=ci").await;
    assert_eq!(
        faults(&response),
        [fault("name", "unknown_member"), fault("limit", "too_small")]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_other_tenants_are_not_found() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "ci", "scopes": ["agents:read"]});
    let foreign = id_of(&create_key(&api.other_tenant(), draft.clone()).await);
    let client = api
        .writer()
        .post("/api/oauth-clients", draft)
        .await
        .created();
    for id in [
        foreign.as_str(),
        &id_of(&client),
        "000000000000",
        "00000000000",
        "agk_00000000",
        "00000000000%C3%A9",
    ] {
        let path = format!("/api/keys/{id}");
        let rotate = format!("{path}/rotate");
        for response in [
            api.writer().get(&path).await,
            api.writer().delete(&path).await,
            api.writer().post(&rotate, json!({})).await,
        ] {
            response.problem(ProblemCode::KeyNotFound);
        }
    }
    let untouched = api
        .other_tenant()
        .get(&format!("/api/keys/{foreign}"))
        .await;
    assert_eq!(untouched.ok()["revokedAt"], Value::Null);
    api.stop().await;
}
