//! `TokenRepository`.

use domain::SecretDigest;

use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    Store, fixture, lookup,
    purging::{ended_before, purge_all},
    results::ResultExt as _,
    setup,
};

async fn revoked(storage: &Store, token: Uuid, ends_at: i64) {
    let result = storage.tokens.revoke(token, fixture::at(ends_at)).await;
    result.success();
}

async fn is_revoked(storage: &Store, token: Uuid) -> bool {
    storage.tokens.is_revoked(token).await.success()
}

async fn is_used_up_now(storage: &Store, assertion: &SecretDigest, ends_at: i64) -> bool {
    let tokens = &storage.tokens;
    let result = tokens.use_assertion(assertion, fixture::at(ends_at)).await;
    result.success()
}

/// `revoke` revokes a token, and no other.
pub async fn a_revoked_token_stays_revoked(storage: &Store) {
    let (token, other) = (fixture::token(1), fixture::token(2));
    assert!(!is_revoked(storage, token).await);
    revoked(storage, token, 600_000).await;
    assert!(is_revoked(storage, token).await);
    assert!(!is_revoked(storage, other).await);
    assert!(!is_revoked(storage, Uuid::nil()).await);
}

/// `revoke` MUST raise the access version the first time, for each token.
pub async fn the_first_revocation_of_a_token_raises_the_access_version(storage: &Store) {
    for number in 1..=2 {
        let before = lookup::access_version(storage).await;
        revoked(storage, fixture::token(number), 600_000).await;
        assert!(lookup::access_version(storage).await > before);
    }
}

/// A second revocation changes nothing and does not raise the access version.
pub async fn a_second_revocation_of_a_token_changes_nothing(storage: &Store) {
    let token = fixture::token(1);
    revoked(storage, token, 600_000).await;
    let before = lookup::access_version(storage).await;
    for ends_at in [600_000, 900_000, 1] {
        revoked(storage, token, ends_at).await;
    }
    assert_eq!(lookup::access_version(storage).await, before);
    let purged = purge_all(storage, 10, ended_before(fixture::at(600_000))).await;
    assert_eq!(purged, 0, "the first expiry applies");
    assert!(is_revoked(storage, token).await);
    let purged = purge_all(storage, 10, ended_before(fixture::at(600_001))).await;
    assert_eq!(purged, 1, "the first expiry applies");
}

/// Several concurrent revocations of one token succeed.
pub async fn eight_concurrent_revocations_of_a_token_succeed(storage: &Store) {
    let before = lookup::access_version(storage).await;
    let mut racers = JoinSet::new();
    for _ in 0..8 {
        let storage = storage.clone();
        racers.spawn(async move { revoked(&storage, fixture::token(1), 600_000).await });
    }
    racers.join_all().await;
    assert!(is_revoked(storage, fixture::token(1)).await);
    assert!(lookup::access_version(storage).await > before);
}

/// `use_assertion` MUST return `true` exactly once per digest, whatever its expiry.
pub async fn an_assertion_can_be_used_once(storage: &Store) {
    let bytes = std::array::from_fn(|index| index.to_le_bytes()[0]);
    for assertion in [SecretDigest::new(bytes), fixture::digest(0)] {
        assert!(is_used_up_now(storage, &assertion, 300_000).await);
        for ends_at in [300_000, 1, 900_000] {
            assert!(!is_used_up_now(storage, &assertion, ends_at).await);
        }
    }
}

/// Of several concurrent uses, one succeeds.
pub async fn one_of_eight_concurrent_uses_of_an_assertion_succeeds(storage: &Store) {
    for number in 0..4 {
        let mut racers = JoinSet::new();
        for ends_at in 1..=8 {
            let storage = storage.clone();
            let assertion = fixture::digest(number);
            racers.spawn(async move { is_used_up_now(&storage, &assertion, ends_at).await });
        }
        let used = racers.join_all().await;
        assert_eq!(used.into_iter().filter(|used| *used).count(), 1);
    }
}

async fn generation(storage: &Store, user_id: &str) -> i64 {
    let tenant = fixture::tenant();
    let read = storage.tokens.user_generation(&tenant, user_id).await;
    read.success()
}

async fn withdraw(storage: &Store, user_id: &str) {
    let tenant = fixture::tenant();
    let withdrawn = storage.tokens.withdraw_user_tokens(&tenant, user_id).await;
    withdrawn.success();
}

/// `user_generation` MUST return 0 for a user whose tokens were never withdrawn, and
/// `withdraw_user_tokens` raises the generation of one user in one tenant. Ids are compared exactly.
pub async fn a_withdrawal_raises_the_generation_of_one_user(storage: &Store) {
    let other_tenant = setup::second_tenant(storage).await;
    let longest = "\u{10ffff}".repeat(320);
    let users = [
        "ada", "Ada", "ada ", "a", "é", "e\u{301}", "%", "🦊~x", &longest,
    ];
    for (index, user) in users.iter().enumerate() {
        assert_eq!(generation(storage, user).await, 0, "{user}");
        for raised in 1..=2 {
            withdraw(storage, user).await;
            assert_eq!(generation(storage, user).await, raised, "{user}");
        }
        for later in &users[index + 1..] {
            assert_eq!(generation(storage, later).await, 0, "{later} after {user}");
        }
        let elsewhere = storage.tokens.user_generation(&other_tenant, user).await;
        assert_eq!(elsewhere.success(), 0, "{user}");
    }
}

/// `withdraw_user_tokens` MUST raise the access version each time.
pub async fn each_withdrawal_raises_the_access_version(storage: &Store) {
    for user in ["ada", "ada", "bob"] {
        let before = lookup::access_version(storage).await;
        withdraw(storage, user).await;
        assert!(lookup::access_version(storage).await > before);
    }
}

/// Several concurrent withdrawals of the tokens of one user raise its generation once each.
pub async fn each_of_eight_concurrent_withdrawals_raises_the_generation(storage: &Store) {
    let mut racers = JoinSet::new();
    for _ in 0..8 {
        let storage = storage.clone();
        racers.spawn(async move { withdraw(&storage, "ada").await });
    }
    racers.join_all().await;
    assert_eq!(generation(storage, "ada").await, 8);
}
