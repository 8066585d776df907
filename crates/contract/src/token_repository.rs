//! `TokenRepository`.

use domain::SecretDigest;
use ports::Storage;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    answers::Answer as _,
    found, samples,
    upkeep::{ended_before, purge_all},
};

async fn revoked(storage: &Storage, token: Uuid, ends_at: i64) {
    let answer = storage.tokens.revoke(token, samples::at(ends_at)).await;
    answer.answered();
}

async fn is_revoked(storage: &Storage, token: Uuid) -> bool {
    storage.tokens.is_revoked(token).await.answered()
}

async fn is_used_up_now(storage: &Storage, assertion: &SecretDigest, ends_at: i64) -> bool {
    let tokens = &storage.tokens;
    let answer = tokens.use_assertion(assertion, samples::at(ends_at)).await;
    answer.answered()
}

/// `revoke` refuses a token, and no other.
pub async fn refuses_a_revoked_token_from_then_on(storage: &Storage) {
    let (token, other) = (samples::token(1), samples::token(2));
    assert!(!is_revoked(storage, token).await);
    revoked(storage, token, 600_000).await;
    assert!(is_revoked(storage, token).await);
    assert!(!is_revoked(storage, other).await);
    assert!(!is_revoked(storage, Uuid::nil()).await);
}

/// `revoke` MUST raise the access version the first time, for each token.
pub async fn the_first_revocation_of_a_token_raises_the_access_version(storage: &Storage) {
    for number in 1..=2 {
        let before = found::access_version(storage).await;
        revoked(storage, samples::token(number), 600_000).await;
        assert!(found::access_version(storage).await > before);
    }
}

/// A token revoked before stays as it was, and no node need drop anything again.
pub async fn a_second_revocation_of_a_token_changes_nothing(storage: &Storage) {
    let token = samples::token(1);
    revoked(storage, token, 600_000).await;
    let before = found::access_version(storage).await;
    for ends_at in [600_000, 900_000, 1] {
        revoked(storage, token, ends_at).await;
    }
    assert_eq!(found::access_version(storage).await, before);
    let purged = purge_all(storage, 10, ended_before(samples::at(600_000))).await;
    assert_eq!(purged, 0, "it ends when it was first said to");
    assert!(is_revoked(storage, token).await);
    let purged = purge_all(storage, 10, ended_before(samples::at(600_001))).await;
    assert_eq!(purged, 1, "it ends when it was first said to");
}

/// One token may be revoked by several at the same time.
pub async fn eight_racing_revocations_of_a_token_revoke_it(storage: &Storage) {
    let before = found::access_version(storage).await;
    let mut racers = JoinSet::new();
    for _ in 0..8 {
        let storage = storage.clone();
        racers.spawn(async move { revoked(&storage, samples::token(1), 600_000).await });
    }
    racers.join_all().await;
    assert!(is_revoked(storage, samples::token(1)).await);
    assert!(found::access_version(storage).await > before);
}

/// `use_assertion` MUST answer `true` exactly once for the same digest, whatever its end.
pub async fn an_assertion_is_used_up_once(storage: &Storage) {
    let bytes = std::array::from_fn(|index| index.to_le_bytes()[0]);
    for assertion in [SecretDigest::new(bytes), samples::digest(0)] {
        assert!(is_used_up_now(storage, &assertion, 300_000).await);
        for ends_at in [300_000, 1, 900_000] {
            assert!(!is_used_up_now(storage, &assertion, ends_at).await);
        }
    }
}

/// `use_assertion` holds also when several ask at the same time.
pub async fn one_of_eight_racing_uses_of_an_assertion_counts(storage: &Storage) {
    for number in 0..4 {
        let mut racers = JoinSet::new();
        for ends_at in 1..=8 {
            let storage = storage.clone();
            let assertion = samples::digest(number);
            racers.spawn(async move { is_used_up_now(&storage, &assertion, ends_at).await });
        }
        let used = racers.join_all().await;
        assert_eq!(used.into_iter().filter(|used| *used).count(), 1);
    }
}
