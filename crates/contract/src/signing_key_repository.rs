//! `SigningKeyRepository`.

use domain::{SigningKey, Timestamp};

use serde_json::json;
use tokio::task::JoinSet;

use crate::{Store, fixture, lookup, results::ResultExt as _, setup};

/// The time at which earlier keys expire, where it does not matter.
fn soon() -> Timestamp {
    fixture::at(600_000)
}

async fn is_added(storage: &Store, key: &SigningKey, newest: Option<&str>) -> bool {
    let signing_keys = &storage.signing_keys;
    signing_keys.add(key, newest, soon()).await.success()
}

/// A migrated store has no signing key.
pub async fn a_migrated_store_has_no_signing_key(storage: &Store) {
    assert_eq!(lookup::signing_keys(storage).await, []);
}

/// `list` returns what `add` stored.
pub async fn a_signing_key_is_stored_unchanged(storage: &Store) {
    let first = SigningKey {
        kid: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs".to_owned(),
        private_key: (0..=255).collect(),
        is_sealed: true,
        public_key: json!({"kty": "EC", "crv": "P-256", "x": "f83O-J_", "y": "x_FEzRu9"}),
        ..fixture::signing_key(1)
    };
    let first = setup::signing_key(storage, first, None, soon()).await;
    assert_eq!(
        lookup::signing_keys(storage).await,
        std::slice::from_ref(&first)
    );
    let second = SigningKey {
        private_key: Vec::new(),
        valid_until: Some(fixture::at(11)),
        ..fixture::signing_key(2)
    };
    let second = setup::signing_key(storage, second, Some(&first), soon()).await;
    assert_eq!(lookup::signing_keys(storage).await[0], second);
}

/// `list` is newest first.
pub async fn signing_keys_are_listed_newest_first(storage: &Store) {
    let mut newest = None;
    // Numbers whose order differs from the order of their texts.
    for number in [2, 9, 10, 100] {
        let key = fixture::signing_key(number);
        newest = Some(setup::signing_key(storage, key, newest.as_ref(), soon()).await);
    }
    let keys = lookup::signing_keys(storage).await;
    let kids: Vec<_> = keys.iter().map(|key| key.kid.as_str()).collect();
    let expected = [100, 10, 9, 2].map(|number| fixture::signing_key(number).kid);
    assert_eq!(kids, expected);
}

/// Keys of the same time are ordered by `kid`, descending, by code point: in the list, and in the
/// decision which one is the newest.
pub async fn signing_keys_of_the_same_time_are_sorted_by_code_point(storage: &Store) {
    let mut newest = None;
    for kid in ["-", "0", "B", "_", "a", "b"] {
        let key = SigningKey {
            kid: kid.to_owned(),
            ..fixture::signing_key(1)
        };
        newest = Some(setup::signing_key(storage, key, newest.as_ref(), soon()).await);
    }
    let keys = lookup::signing_keys(storage).await;
    let kids: Vec<_> = keys.iter().map(|key| key.kid.as_str()).collect();
    assert_eq!(kids, ["b", "a", "_", "B", "0", "-"]);
}

/// `add` MUST write nothing and return `false` if the newest key is not the given one.
pub async fn a_signing_key_is_added_only_if_the_newest_is_given(storage: &Store) {
    let unnamed = fixture::signing_key(9);
    assert!(!is_added(storage, &unnamed, Some("signing key 1")).await);
    assert_eq!(lookup::signing_keys(storage).await, []);
    let first = setup::signing_key(storage, fixture::signing_key(1), None, soon()).await;
    let second = fixture::signing_key(2);
    let second = setup::signing_key(storage, second, Some(&first), soon()).await;
    let (before, version) = (
        lookup::signing_keys(storage).await,
        lookup::access_version(storage).await,
    );
    let unknown = "signing key 404";
    for newest in [None, Some(first.kid.as_str()), Some(unknown), Some("")] {
        assert!(!is_added(storage, &unnamed, newest).await, "{newest:?}");
        assert_eq!(lookup::signing_keys(storage).await, before);
        assert_eq!(lookup::access_version(storage).await, version);
    }
    assert!(is_added(storage, &unnamed, Some(&second.kid)).await);
}

/// `add` MUST let the earlier keys expire at the given time, but never later than they would have.
/// The new key does not expire.
pub async fn earlier_signing_keys_expire_and_never_later_than_before(storage: &Store) {
    let mut newest = None;
    for (number, previous_until) in [(1, 50), (2, 1_000), (3, 5_000), (4, 700), (5, 9_000)] {
        let (key, until) = (fixture::signing_key(number), fixture::at(previous_until));
        newest = Some(setup::signing_key(storage, key, newest.as_ref(), until).await);
    }
    let keys = lookup::signing_keys(storage).await;
    let ends: Vec<_> = keys.iter().map(|key| key.valid_until).collect();
    // Newest first: the fourth expires by the fifth, all earlier ones by the fourth.
    let expected = [None, Some(9_000), Some(700), Some(700), Some(700)];
    assert_eq!(ends, expected.map(|end| end.map(fixture::at)));
}

/// `add` MUST raise the access version.
pub async fn a_new_signing_key_raises_the_access_version(storage: &Store) {
    let mut newest = None;
    for number in 1..=3 {
        let before = lookup::access_version(storage).await;
        let key = fixture::signing_key(number);
        newest = Some(setup::signing_key(storage, key, newest.as_ref(), soon()).await);
        assert!(lookup::access_version(storage).await > before);
    }
}

/// Of several concurrent rotations, one is applied: for the first key and for every later one.
pub async fn one_of_eight_concurrent_signing_keys_is_added(storage: &Store) {
    let mut newest: Option<SigningKey> = None;
    for round in 1..=3 {
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (storage, newest) = (storage.clone(), newest.clone());
            racers.spawn(async move {
                let key = fixture::signing_key(10 * round + racer);
                let newest = newest.as_ref().map(|newest| newest.kid.as_str());
                is_added(&storage, &key, newest).await.then_some(key)
            });
        }
        let winners: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1, "in round {round}");
        let keys = lookup::signing_keys(storage).await;
        assert_eq!(keys.first(), winners.first());
        assert_eq!(keys.len(), round as usize);
        newest = winners.into_iter().next();
    }
}
