//! How keys end: by rotation, by revocation, by their time; and when they were last used.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{ProblemCode, Timestamp};
use serde_json::{Value, json};

use crate::{
    caller::Caller,
    harness::{Api, Plan},
    probe::{Misfortune, Probe},
};

/// A key for agents, made over the interface.
struct MadeKey {
    path: String,
    holder: Caller,
}

impl MadeKey {
    async fn make(api: &Api) -> Self {
        let draft = json!({"name": "ci", "scopes": ["agents:read"]});
        let made = api.writer().post("/api/keys", draft).await.made();
        let made = Self {
            path: format!("/api/keys/{}", made["id"].as_str().expect("an id")),
            holder: api.caller(made["secret"].as_str()),
        };
        made.is_let_in().await;
        made
    }

    async fn is_let_in(&self) {
        self.holder.get("/api/agents").await.ok();
    }

    async fn is_refused(&self) {
        let answer = self.holder.get("/api/agents").await;
        answer.problem(ProblemCode::InvalidCredentials);
    }

    /// Who holds the secret that a rotation shows.
    async fn rotate(&self, api: &Api, rotation: Value) -> Caller {
        let path = format!("{}/rotate", self.path);
        let rotated = api.writer().post(&path, rotation).await;
        assert_eq!(rotated.header("cache-control"), "no-store");
        let rotated = rotated.ok();
        let mut read = api.writer().get(&self.path).await.ok();
        read["secret"] = rotated["secret"].clone();
        assert_eq!(rotated, read, "the key as it is now, and the secret");
        api.caller(rotated["secret"].as_str())
    }

    async fn read(&self, api: &Api) -> Value {
        api.writer().get(&self.path).await.ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_keeps_its_id_and_its_old_secret_ends_at_once() {
    let api = Api::start().await;
    let key = MadeKey::make(&api).await;
    let before = key.read(&api).await;
    let new = key.rotate(&api, json!({})).await;
    key.is_refused().await;
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
async fn the_old_secret_is_good_until_the_overlap_ends() {
    let api = Api::start().await;
    let Overlap {
        key,
        new,
        began,
        length,
    } = Overlap::begin(&api).await;
    let mut answer = key.holder.get("/api/agents").await;
    while answer.status == 200 {
        assert!(
            began.elapsed().as_secs() < 60,
            "the old secret is still good"
        );
        new.get("/api/agents").await.ok();
        answer = key.holder.get("/api/agents").await;
    }
    answer.problem(ProblemCode::InvalidCredentials);
    assert!(began.elapsed() >= length);
    new.get("/api/agents").await.ok();
    api.stop().await;
}

/// A rotated key, whose old secret has let its holder in beside the new one.
struct Overlap {
    key: MadeKey,
    new: Caller,
    /// A moment before the rotation.
    began: Instant,
    length: Duration,
}

impl Overlap {
    async fn begin(api: &Api) -> Self {
        // The first is long enough unless the machine stalls.
        for seconds in [1, 5, 25] {
            let key = MadeKey::make(api).await;
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
async fn never_are_more_than_two_secrets_good() {
    let api = Api::start().await;
    let key = MadeKey::make(&api).await;
    let second = key.rotate(&api, json!({"overlapSeconds": 604_800})).await;
    key.is_let_in().await;
    let third = key.rotate(&api, json!({"overlapSeconds": 3_600})).await;
    key.is_refused().await;
    second.get("/api/agents").await.ok();
    third.get("/api/agents").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_may_say_nothing_and_nothing_wrong() {
    let api = Api::start().await;
    let key = MadeKey::make(&api).await;
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
        let answer = request().json(&rotation).send().await;
        answer.problem(ProblemCode::ValidationFailed);
        assert_eq!(answer.faults(), [(place.to_owned(), code.to_owned())]);
    }
    let untyped = request().raw_body("{}").send().await;
    untyped.problem(ProblemCode::UnsupportedMediaType);
    let blank = request().body(" ").send().await;
    blank.problem(ProblemCode::MalformedJson);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_is_refused_at_once_and_for_good() {
    let api = Api::start().await;
    let key = MadeKey::make(&api).await;
    let answer = api.writer().delete(&key.path).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    key.is_refused().await;
    let revoked = key.read(&api).await;
    assert!(revoked["revokedAt"].is_string(), "{revoked}");
    assert_eq!(api.writer().delete(&key.path).await.status, 204, "again");
    assert_eq!(key.read(&api).await, revoked, "as it was");
    let path = format!("{}/rotate", key.path);
    let answer = api.writer().post(&path, json!({})).await;
    let problem = answer.problem(ProblemCode::KeyNotFound);
    assert_eq!(problem["detail"], "the key is revoked or has expired");
    let api = api.restart(Plan::default()).await;
    let holder = api.caller(Some(key.holder.key()));
    let answer = holder.get("/api/agents").await;
    answer.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_is_refused_although_the_access_version_cannot_be_read() {
    let probe = Arc::new(Probe::default());
    let over = Arc::clone(&probe);
    let plan = Plan::default().over(move |storage| over.over(storage));
    let api = plan.start().await;
    let (revoked, rotated) = (MadeKey::make(&api).await, MadeKey::make(&api).await);
    probe.make("credentials.access_version", Misfortune::Away);
    for key in [&revoked, &rotated] {
        // Whatever was forgotten before is remembered again.
        key.is_let_in().await;
    }
    assert_eq!(api.writer().delete(&revoked.path).await.status, 204);
    revoked.is_refused().await;
    rotated.is_let_in().await;
    rotated.rotate(&api, json!({})).await;
    rotated.is_refused().await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_can_end_itself() {
    let api = Api::start().await;
    let path = "/api/keys";
    let draft = json!({"name": "ci", "scopes": ["keys:admin"]});
    let made = api.writer().post(path, draft).await.made();
    let path = format!("{path}/{}", made["id"].as_str().expect("an id"));
    let holder = api.caller(made["secret"].as_str());
    let rotated = holder.post(&format!("{path}/rotate"), json!({})).await.ok();
    let answer = holder.get(&path).await;
    answer.problem(ProblemCode::InvalidCredentials);
    let holder = api.caller(rotated["secret"].as_str());
    assert_eq!(holder.delete(&path).await.status, 204);
    let answer = holder.delete(&path).await;
    answer.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_is_refused_and_not_rotated() {
    let api = Api::start().await;
    let (clock, _) = api::wiring::system();
    let (made, end) = made_for_a_while(&api).await;
    let holder = api.caller(made["secret"].as_str());
    let began = Instant::now();
    let mut answer = holder.get("/api/agents").await;
    while answer.status == 200 {
        assert!(began.elapsed().as_secs() < 60, "the key is still good");
        answer = holder.get("/api/agents").await;
    }
    answer.problem(ProblemCode::InvalidCredentials);
    assert!(clock.now() >= end);
    let path = format!("/api/keys/{}", made["id"].as_str().expect("an id"));
    assert_eq!(api.writer().get(&path).await.ok()["expiresAt"], json!(end));
    let rotate = format!("{path}/rotate");
    let answer = api.writer().post(&rotate, json!({})).await;
    let problem = answer.problem(ProblemCode::KeyNotFound);
    assert_eq!(problem["detail"], "the key is revoked or has expired");
    assert_eq!(api.writer().delete(&path).await.status, 204);
    api.stop().await;
}

/// A key that ends soon, and when it does.
async fn made_for_a_while(api: &Api) -> (Value, Timestamp) {
    let (clock, _) = api::wiring::system();
    let mut lives = [1_500, 6_000, 24_000].into_iter();
    loop {
        let life = lives
            .next()
            .expect("a machine fast enough for a key that ends");
        let end = clock.now() + Duration::from_millis(life);
        let draft = json!({"name": "ci", "scopes": ["agents:read"], "expiresAt": end});
        let answer = api.writer().post("/api/keys", draft).await;
        // When the machine has stalled for as long, the end is not in the future any more.
        if answer.status == 201 || clock.now() < end {
            return (answer.made(), end);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_tells_when_it_was_last_used() {
    let api = Api::start().await;
    let (clock, _) = api::wiring::system();
    let key = MadeKey::make(&api).await;
    let since = clock.now();
    key.is_let_in().await;
    let until = clock.now();
    // What a process has seen it writes once a minute, and when it ends.
    let api = api.restart(Plan::default()).await;
    let read = key.read(&api).await;
    let last_used = read["lastUsedAt"].as_str().expect("a time");
    let last_used = Timestamp::parse(last_used).expect("a time");
    assert!((since..=until).contains(&last_used), "{read}");
    api.stop().await;
}
