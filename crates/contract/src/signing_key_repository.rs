//! `SigningKeyRepository`.

use domain::{SigningKey, Timestamp};
use ports::Storage;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{answers::Answer as _, found, given, samples};

/// When the keys before a new one end, where it does not matter.
fn soon() -> Timestamp {
    samples::at(600_000)
}

async fn is_added(storage: &Storage, key: &SigningKey, newest: Option<&str>) -> bool {
    let signing_keys = &storage.signing_keys;
    signing_keys.add(key, newest, soon()).await.answered()
}

/// A migrated store has no key: whoever signs makes the first one.
pub async fn a_migrated_store_holds_no_signing_key(storage: &Storage) {
    assert_eq!(found::signing_keys(storage).await, []);
}

/// What `add` took is what `list` gives.
pub async fn stores_a_signing_key_as_it_was_given(storage: &Storage) {
    let first = SigningKey {
        kid: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs".to_owned(),
        private_key: (0..=255).collect(),
        is_sealed: true,
        public_key: json!({"kty": "EC", "crv": "P-256", "x": "f83O-J_", "y": "x_FEzRu9"}),
        ..samples::signing_key(1)
    };
    let first = given::signing_key(storage, first, None, soon()).await;
    assert_eq!(
        found::signing_keys(storage).await,
        std::slice::from_ref(&first)
    );
    let second = SigningKey {
        private_key: Vec::new(),
        valid_until: Some(samples::at(11)),
        ..samples::signing_key(2)
    };
    let second = given::signing_key(storage, second, Some(&first), soon()).await;
    assert_eq!(found::signing_keys(storage).await[0], second);
}

/// `list` is newest first.
pub async fn lists_signing_keys_newest_first(storage: &Storage) {
    let mut newest = None;
    // Neither as texts nor by chance in this order.
    for number in [2, 9, 10, 100] {
        let key = samples::signing_key(number);
        newest = Some(given::signing_key(storage, key, newest.as_ref(), soon()).await);
    }
    let keys = found::signing_keys(storage).await;
    let kids: Vec<_> = keys.iter().map(|key| key.kid.as_str()).collect();
    let expected = [100, 10, 9, 2].map(|number| samples::signing_key(number).kid);
    assert_eq!(kids, expected);
}

/// Keys of one moment are told apart by `kid`, descending, upper case before lower: in the list,
/// and where the newest is asked for.
pub async fn sorts_signing_keys_of_one_moment_by_code_point(storage: &Storage) {
    let mut newest = None;
    for kid in ["-", "0", "B", "_", "a", "b"] {
        let key = SigningKey {
            kid: kid.to_owned(),
            ..samples::signing_key(1)
        };
        newest = Some(given::signing_key(storage, key, newest.as_ref(), soon()).await);
    }
    let keys = found::signing_keys(storage).await;
    let kids: Vec<_> = keys.iter().map(|key| key.kid.as_str()).collect();
    assert_eq!(kids, ["b", "a", "_", "B", "0", "-"]);
}

/// `add` MUST write nothing and answer `false` when the newest key is not the one named.
pub async fn adds_no_signing_key_unless_the_newest_is_named(storage: &Storage) {
    let unnamed = samples::signing_key(9);
    assert!(!is_added(storage, &unnamed, Some("signing key 1")).await);
    assert_eq!(found::signing_keys(storage).await, []);
    let first = given::signing_key(storage, samples::signing_key(1), None, soon()).await;
    let second = samples::signing_key(2);
    let second = given::signing_key(storage, second, Some(&first), soon()).await;
    let (before, version) = (
        found::signing_keys(storage).await,
        found::access_version(storage).await,
    );
    let unknown = "signing key 404";
    for newest in [None, Some(first.kid.as_str()), Some(unknown), Some("")] {
        assert!(!is_added(storage, &unnamed, newest).await, "{newest:?}");
        assert_eq!(found::signing_keys(storage).await, before);
        assert_eq!(found::access_version(storage).await, version);
    }
    assert!(is_added(storage, &unnamed, Some(&second.kid)).await);
}

/// `add` MUST let the keys before it end at the time given, but never later than they would have
/// ended already. The new one has no end.
pub async fn the_keys_before_a_new_one_end_and_never_later_than_before(storage: &Storage) {
    let mut newest = None;
    for (number, previous_until) in [(1, 50), (2, 1_000), (3, 5_000), (4, 700), (5, 9_000)] {
        let (key, until) = (samples::signing_key(number), samples::at(previous_until));
        newest = Some(given::signing_key(storage, key, newest.as_ref(), until).await);
    }
    let keys = found::signing_keys(storage).await;
    let ends: Vec<_> = keys.iter().map(|key| key.valid_until).collect();
    // Newest first: the fourth ends by the fifth, all before by the fourth.
    let expected = [None, Some(9_000), Some(700), Some(700), Some(700)];
    assert_eq!(ends, expected.map(|end| end.map(samples::at)));
}

/// `add` MUST raise the access version.
pub async fn a_new_signing_key_raises_the_access_version(storage: &Storage) {
    let mut newest = None;
    for number in 1..=3 {
        let before = found::access_version(storage).await;
        let key = samples::signing_key(number);
        newest = Some(given::signing_key(storage, key, newest.as_ref(), soon()).await);
        assert!(found::access_version(storage).await > before);
    }
}

/// Of those who rotate at the same time one does it: the first time, and every time after.
pub async fn one_of_eight_racing_signing_keys_is_added(storage: &Storage) {
    let mut newest: Option<SigningKey> = None;
    for round in 1..=3 {
        let mut racers = JoinSet::new();
        for racer in 0..8 {
            let (storage, newest) = (storage.clone(), newest.clone());
            racers.spawn(async move {
                let key = samples::signing_key(10 * round + racer);
                let newest = newest.as_ref().map(|newest| newest.kid.as_str());
                is_added(&storage, &key, newest).await.then_some(key)
            });
        }
        let winners: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1, "in round {round}");
        let keys = found::signing_keys(storage).await;
        assert_eq!(keys.first(), winners.first());
        assert_eq!(keys.len(), round as usize);
        newest = winners.into_iter().next();
    }
}
