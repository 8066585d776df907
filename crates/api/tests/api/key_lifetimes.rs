//! The lifetime of keys: rotation, revocation, expiry, and last use.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{ProblemCode, Timestamp};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    caller::Caller,
    storage_probe::{InjectedFault, StorageProbe},
};

/// A key for agents, created with the API.
struct CreatedKey {
    path: String,
    holder: Caller,
}

impl CreatedKey {
    async fn make(api: &ApiServer) -> Self {
        let draft = json!({"name": "ci", "scopes": ["agents:read"]});
        let made = api.writer().post("/api/keys", draft).await.created();
        let made = Self {
            path: format!("/api/keys/{}", made["id"].as_str().expect("an id")),
            holder: api.caller(made["secret"].as_str()),
        };
        made.is_accepted().await;
        made
    }

    async fn is_accepted(&self) {
        self.holder.get("/api/agents").await.ok();
    }

    async fn is_rejected(&self) {
        let response = self.holder.get("/api/agents").await;
        response.problem(ProblemCode::InvalidCredentials);
    }

    /// A caller with the new secret of a rotation.
    async fn rotate(&self, api: &ApiServer, rotation: Value) -> Caller {
        let path = format!("{}/rotate", self.path);
        let rotated = api.writer().post(&path, rotation).await;
        assert_eq!(rotated.header("cache-control"), "no-store");
        let rotated = rotated.ok();
        let mut read = api.writer().get(&self.path).await.ok();
        read["secret"] = rotated["secret"].clone();
        assert_eq!(rotated, read, "the key as it is now, and the secret");
        api.caller(rotated["secret"].as_str())
    }

    async fn read(&self, api: &ApiServer) -> Value {
        api.writer().get(&self.path).await.ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_keeps_its_id_and_its_old_secret_ends_at_once() {
    let api = ApiServer::start().await;
    let key = CreatedKey::make(&api).await;
    let before = key.read(&api).await;
    let new = key.rotate(&api, json!({})).await;
    key.is_rejected().await;
    new.get("/api/agents").await.ok();
    let after = key.read(&api).await;
    assert_ne!(after["last4"], Value::Null);
    for member in [
        "id",
        "name",
        "scopes",
        "createdAt",
        "expiresAt",
        "revokedAt",
    ] {
        assert_eq!(after[member], before[member], "{member}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_secret_is_valid_until_the_overlap_ends() {
    let api = ApiServer::start().await;
    let OverlappingSecrets {
        key,
        new,
        began,
        length,
    } = OverlappingSecrets::begin(&api).await;
    let mut response = key.holder.get("/api/agents").await;
    while response.status == 200 {
        assert!(
            began.elapsed().as_secs() < 60,
            "the old secret is still good"
        );
        new.get("/api/agents").await.ok();
        response = key.holder.get("/api/agents").await;
    }
    response.problem(ProblemCode::InvalidCredentials);
    assert!(began.elapsed() >= length);
    new.get("/api/agents").await.ok();
    api.stop().await;
}

/// A rotated key whose old and new secrets are both valid.
struct OverlappingSecrets {
    key: CreatedKey,
    new: Caller,
    /// A moment before the rotation.
    began: Instant,
    length: Duration,
}

impl OverlappingSecrets {
    async fn begin(api: &ApiServer) -> Self {
        // The first duration suffices unless the machine stalls.
        for seconds in [1, 5, 25] {
            let key = CreatedKey::make(api).await;
            let (began, length) = (Instant::now(), Duration::from_secs(seconds));
            let new = key.rotate(api, json!({"overlapSeconds": seconds})).await;
            if key.holder.get("/api/agents").await.status == 200 {
                return Self {
                    key,
                    new,
                    began,
                    length,
                };
            }
            assert!(began.elapsed() >= length, "the old secret ended too early");
        }
        panic!("this machine is too slow for an overlap");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_two_secrets_are_valid() {
    let api = ApiServer::start().await;
    let key = CreatedKey::make(&api).await;
    let second = key.rotate(&api, json!({"overlapSeconds": 604_800})).await;
    key.is_accepted().await;
    let third = key.rotate(&api, json!({"overlapSeconds": 3_600})).await;
    key.is_rejected().await;
    second.get("/api/agents").await.ok();
    third.get("/api/agents").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_accepts_an_empty_body_and_rejects_errors() {
    let api = ApiServer::start().await;
    let key = CreatedKey::make(&api).await;
    let path = format!("{}/rotate", key.path);
    let request = || api.writer().request("POST", &path);
    request().send().await.ok();
    let empty = request().header("Content-Type", "application/json");
    empty.send().await.ok();
    for (rotation, place, code) in [
        (
            json!({"overlapSeconds": 604_801}),
            "/overlapSeconds",
            "too_large",
        ),
        (
            json!({"overlapSeconds": -1}),
            "/overlapSeconds",
            "too_small",
        ),
        (
            json!({"overlapSeconds": 0.5}),
            "/overlapSeconds",
            "wrong_type",
        ),
        (json!({"jwks": {"keys": []}}), "/jwks", "unknown_member"),
        (json!([]), "", "wrong_type"),
    ] {
        let response = request().json(&rotation).send().await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(response.faults(), [(place.to_owned(), code.to_owned())]);
    }
    let untyped = request().raw_body("{}").send().await;
    untyped.problem(ProblemCode::UnsupportedMediaType);
    let blank = request().body(" ").send().await;
    blank.problem(ProblemCode::MalformedJson);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_rejected_at_once_and_for_good() {
    let api = ApiServer::start().await;
    let key = CreatedKey::make(&api).await;
    let response = api.writer().delete(&key.path).await;
    assert_eq!((response.status, response.body.len()), (204, 0));
    key.is_rejected().await;
    let revoked = key.read(&api).await;
    assert!(revoked["revokedAt"].is_string(), "{revoked}");
    assert_eq!(api.writer().delete(&key.path).await.status, 204, "again");
    assert_eq!(key.read(&api).await, revoked, "as it was");
    let path = format!("{}/rotate", key.path);
    let response = api.writer().post(&path, json!({})).await;
    let problem = response.problem(ProblemCode::KeyNotFound);
    assert_eq!(
        problem["detail"],
        "The key has been revoked or has expired; create a new one."
    );
    let api = api.restart(ApiServerBuilder::default()).await;
    let holder = api.caller(Some(key.holder.key()));
    let response = holder.get("/api/agents").await;
    response.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_credentials_are_rejected_although_the_access_version_is_unreadable() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let builder =
        ApiServerBuilder::default().wrap_storage(move |storage| wrapped.wrap_storage(storage));
    let api = builder.start().await;
    let (revoked, rotated) = (CreatedKey::make(&api).await, CreatedKey::make(&api).await);
    probe.inject("credentials.access_version", InjectedFault::Unavailable);
    for key in [&revoked, &rotated] {
        // Entries that were dropped before are remembered again.
        key.is_accepted().await;
    }
    assert_eq!(api.writer().delete(&revoked.path).await.status, 204);
    revoked.is_rejected().await;
    rotated.is_accepted().await;
    rotated.rotate(&api, json!({})).await;
    rotated.is_rejected().await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_can_revoke_itself() {
    let api = ApiServer::start().await;
    let path = "/api/keys";
    let draft = json!({"name": "ci", "scopes": ["keys:admin"]});
    let made = api.writer().post(path, draft).await.created();
    let path = format!("{path}/{}", made["id"].as_str().expect("an id"));
    let holder = api.caller(made["secret"].as_str());
    let rotated = holder.post(&format!("{path}/rotate"), json!({})).await.ok();
    let response = holder.get(&path).await;
    response.problem(ProblemCode::InvalidCredentials);
    let holder = api.caller(rotated["secret"].as_str());
    assert_eq!(holder.delete(&path).await.status, 204);
    let response = holder.delete(&path).await;
    response.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_is_rejected_and_cannot_be_rotated() {
    let api = ApiServer::start().await;
    let (clock, _) = api::wiring::system();
    let (made, end) = created_with_expiry(&api).await;
    let holder = api.caller(made["secret"].as_str());
    let began = Instant::now();
    let mut response = holder.get("/api/agents").await;
    while response.status == 200 {
        assert!(began.elapsed().as_secs() < 60, "the key is still good");
        response = holder.get("/api/agents").await;
    }
    response.problem(ProblemCode::InvalidCredentials);
    assert!(clock.now() >= end);
    let path = format!("/api/keys/{}", made["id"].as_str().expect("an id"));
    assert_eq!(api.writer().get(&path).await.ok()["expiresAt"], json!(end));
    let rotate = format!("{path}/rotate");
    let response = api.writer().post(&rotate, json!({})).await;
    let problem = response.problem(ProblemCode::KeyNotFound);
    assert_eq!(
        problem["detail"],
        "The key has been revoked or has expired; create a new one."
    );
    assert_eq!(api.writer().delete(&path).await.status, 204);
    api.stop().await;
}

/// A key that expires soon, and its expiry.
async fn created_with_expiry(api: &ApiServer) -> (Value, Timestamp) {
    let (clock, _) = api::wiring::system();
    let mut lives = [1_500, 6_000, 24_000].into_iter();
    loop {
        let life = lives
            .next()
            .expect("a machine fast enough for a key that ends");
        let end = clock.now() + Duration::from_millis(life);
        let draft = json!({"name": "ci", "scopes": ["agents:read"], "expiresAt": end});
        let response = api.writer().post("/api/keys", draft).await;
        // If the machine stalled, the expiry is no longer in the future.
        if response.status == 201 || clock.now() < end {
            return (response.created(), end);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_shows_its_last_use() {
    let api = ApiServer::start().await;
    let (clock, _) = api::wiring::system();
    let key = CreatedKey::make(&api).await;
    let since = clock.now();
    key.is_accepted().await;
    let until = clock.now();
    // A process writes last uses once a minute, and at its end.
    let api = api.restart(ApiServerBuilder::default()).await;
    let read = key.read(&api).await;
    let last_used = read["lastUsedAt"].as_str().expect("a time");
    let last_used = Timestamp::parse(last_used).expect("a time");
    assert!((since..=until).contains(&last_used), "{read}");
    api.stop().await;
}
