//! `/api/oauth-clients`: clients are created, listed, rotated and revoked like keys, and may sign
//! with their own keys.

use domain::{CredentialKind, CredentialSecret, ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    agents::all_ids,
    api_server::{ApiServer, id_of},
    response::ApiResponse,
};

/// 32 bytes in base64url, distinguished by the number up to 25.
pub(crate) fn coordinate(number: u8) -> String {
    let digit = char::from(b'A' + number).to_string();
    // The last digit has bits that belong to no byte.
    format!("{}A", digit.repeat(42))
}

/// A key set with one public key, distinguished by the number.
pub(crate) fn key_set(number: u8) -> Value {
    json!({"keys": [{
        "kty": "OKP", "crv": "Ed25519", "kid": format!("key {number}"), "x": coordinate(number),
    }]})
}

/// `base` with other members.
pub(crate) fn with(mut base: Value, members: &Value) -> Value {
    let members = members.as_object().expect("members").clone();
    base.as_object_mut().expect("an object").extend(members);
    base
}

fn draft(members: &Value) -> Value {
    let least = json!({"name": "nightly import", "scopes": ["agents:read"]});
    with(least, members)
}

pub(crate) async fn created(api: &ApiServer, members: Value) -> ApiResponse {
    api.writer()
        .post("/api/oauth-clients", draft(&members))
        .await
}

/// An existing client, and its path.
async fn create_client(api: &ApiServer, members: Value) -> (Value, String) {
    let client = created(api, members).await.created();
    let path = format!("/api/oauth-clients/{}", id_of(&client));
    (client, path)
}

async fn rotated(api: &ApiServer, path: &str, rotation: Value) -> ApiResponse {
    api.writer().post(&format!("{path}/rotate"), rotation).await
}

pub(crate) fn fault(pointer: &str, code: &str) -> (String, String) {
    (pointer.to_owned(), code.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_shown_once_with_its_secret_and_then_without() {
    let api = ApiServer::start().await;
    let response = created(&api, json!({"limits": {"chatPerMinute": 6}})).await;
    let mut client = response.created();
    let secret = client["secret"].as_str().expect("a secret");
    let secret = CredentialSecret::parse(CredentialKind::Client, secret).expect("its form");
    let path = format!("/api/oauth-clients/{}", secret.id());
    assert_eq!(response.header("location"), path);
    assert_eq!(response.header("cache-control"), "no-store");
    assert!(!response.has("etag"));
    let members = client.as_object_mut().expect("a client");
    members.remove("secret");
    let created_at = members.remove("createdAt").expect("a time");
    assert_eq!(
        client,
        json!({
            "id": secret.id(), "name": "nightly import", "last4": secret.last4(),
            "scopes": ["agents:read"], "expiresAt": null, "lastUsedAt": null, "revokedAt": null,
            "limits": {"chatPerMinute": 6},
        })
    );
    client["createdAt"] = created_at;
    assert_eq!(api.writer().get(&path).await.ok(), client);
    let listed = api.writer().get("/api/oauth-clients").await;
    assert_eq!(listed.ok()["data"], json!([client]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_s_secret_is_no_key() {
    let api = ApiServer::start().await;
    let (client, _) = create_client(&api, json!({})).await;
    let holder = api.caller(client["secret"].as_str());
    let response = holder.get("/api/agents").await;
    response.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_keys_of_its_own_gets_no_secret() {
    let api = ApiServer::start().await;
    let mut chatty = key_set(1);
    chatty["keys"][0]["x5u"] = json!("https://client.example/chain");
    let (client, path) = create_client(&api, json!({"jwks": chatty})).await;
    assert_eq!(client["jwks"], key_set(1), "without what is not understood");
    let address = "https://client.example/jwks.json";
    let (published, _) = create_client(&api, json!({"jwksUri": address})).await;
    assert_eq!(published["jwksUri"], address);
    for client in [&client, &published] {
        for absent in ["secret", "last4"] {
            assert_eq!(client[absent], Value::Null, "{client}");
        }
    }
    assert_eq!(api.writer().get(&path).await.ok(), client);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_secret_is_rotated_like_a_key() {
    let api = ApiServer::start().await;
    let (client, path) = create_client(&api, json!({})).await;
    let mut again = rotated(&api, &path, json!({"overlapSeconds": 60}))
        .await
        .ok();
    let secret = again["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(client["secret"], again["secret"]);
    let secret = CredentialSecret::parse(CredentialKind::Client, &secret).expect("its form");
    assert_eq!(secret.id().as_str(), client["id"]);
    again.as_object_mut().expect("a client").remove("secret");
    assert_eq!(again["last4"], secret.last4());
    assert_eq!(api.writer().get(&path).await.ok(), again);
    let response = rotated(&api, &path, json!({"jwks": key_set(1)})).await;
    response.problem(ProblemCode::ValidationFailed);
    assert_eq!(response.faults(), [fault("/jwks", "not_combinable")]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_key_set_is_rotated_with_a_new_set() {
    let api = ApiServer::start().await;
    let (_, path) = create_client(&api, json!({"jwks": key_set(1)})).await;
    let response = rotated(&api, &path, json!({"jwks": key_set(2)})).await.ok();
    assert_eq!(response["jwks"], key_set(2));
    assert_eq!(response["secret"], Value::Null);
    assert_eq!(api.writer().get(&path).await.ok(), response);
    for (rotation, expected) in [
        (json!({}), vec![fault("/jwks", "required")]),
        (
            json!({"overlapSeconds": 60, "jwks": key_set(3)}),
            vec![fault("/overlapSeconds", "not_combinable")],
        ),
        (
            json!({"jwks": {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "AA"}]}}),
            vec![
                fault("/jwks/keys/0/d", "unknown_member"),
                fault("/jwks/keys/0/x", "bad_format"),
            ],
        ),
    ] {
        let response = rotated(&api, &path, rotation).await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(response.faults(), expected);
    }
    assert_eq!(api.writer().get(&path).await.ok()["jwks"], key_set(2));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn published_keys_are_rotated_where_they_are_published() {
    let api = ApiServer::start().await;
    let address = json!({"jwksUri": "https://client.example/jwks.json"});
    let (_, path) = create_client(&api, address).await;
    for rotation in [
        json!({}),
        json!({"jwks": key_set(1)}),
        json!({"overlapSeconds": 1}),
    ] {
        let response = rotated(&api, &path, rotation).await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(response.faults(), [fault("", "not_combinable")]);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_client_stays_visible() {
    let api = ApiServer::start().await;
    let (_, path) = create_client(&api, json!({})).await;
    assert_eq!(api.writer().delete(&path).await.status, 204);
    let revoked = api.writer().get(&path).await.ok();
    assert!(revoked["revokedAt"].is_string(), "{revoked}");
    assert_eq!(api.writer().delete(&path).await.status, 204, "again");
    assert_eq!(api.writer().get(&path).await.ok(), revoked, "as it was");
    let response = rotated(&api, &path, json!({})).await;
    let problem = response.problem(ProblemCode::ClientNotFound);
    assert_eq!(
        problem["detail"],
        "The client has been revoked or has expired; create a new one."
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_cannot_manage_clients_with_more_scopes_than_their_own() {
    let api = ApiServer::start().await;
    let manager = api.caller_with_scopes(&[Scope::KeysAdmin]).await;
    let (_, path) = create_client(&api, json!({})).await;
    for response in [
        manager.post("/api/oauth-clients", draft(&json!({}))).await,
        manager.post(&format!("{path}/rotate"), json!({})).await,
        manager.delete(&path).await,
    ] {
        let problem = response.problem(ProblemCode::InsufficientScope);
        assert_eq!(problem["detail"], "The credential needs agents:read.");
    }
    assert_eq!(manager.get(&path).await.ok()["revokedAt"], Value::Null);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_makes_one_client() {
    let api = ApiServer::start().await;
    let create = |path: &'static str, draft: Value| {
        let request = api.writer().request("POST", path);
        request.header("Idempotency-Key", "k-1").json(&draft).send()
    };
    let path = "/api/oauth-clients";
    let client = create(path, draft(&json!({}))).await.created();
    let again = create(path, draft(&json!({}))).await;
    let problem = again.problem(ProblemCode::IdempotencyKeyUsed);
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains(&id_of(&client)), "{detail}");
    let other = create(path, draft(&json!({"jwks": key_set(1)}))).await;
    other.problem(ProblemCode::IdempotencyKeyReused);
    // Another operation has idempotency keys of its own.
    create("/api/keys", draft(&json!({}))).await.created();
    assert_eq!(all_ids(&api.writer(), path).await, [id_of(&client)]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_listed_separately_from_keys_and_other_tenants() {
    let api = ApiServer::start().await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.push(id_of(&create_client(&api, json!({})).await.0));
    }
    let mut listed = all_ids(&api.writer(), "/api/oauth-clients?limit=2").await;
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    let keys = all_ids(&api.writer(), "/api/keys").await;
    assert!(expected.iter().all(|id| !keys.contains(id)));
    assert_eq!(
        all_ids(&api.other_tenant(), "/api/oauth-clients").await,
        Vec::<String>::new()
    );
    for id in [&expected[0], &keys[0], "0", "000000000000"] {
        let path = format!("/api/oauth-clients/{id}");
        let caller = if *id == expected[0] {
            api.other_tenant()
        } else {
            api.writer()
        };
        for response in [
            caller.get(&path).await,
            caller.delete(&path).await,
            caller.post(&format!("{path}/rotate"), json!({})).await,
        ] {
            response.problem(ProblemCode::ClientNotFound);
        }
    }
    api.stop().await;
}
