//! `CredentialRepository`: the first key of a store, which is made once.

use domain::{Credential, CredentialKind};
use ports::Storage;
use tokio::task::JoinSet;

use crate::{
    answers::{Answer as _, OnceAnswer as _, assert_conflict},
    found, given, pages, samples,
};

async fn has_ever_held_a_key(storage: &Storage) -> bool {
    storage.credentials.has_ever_held_a_key().await.answered()
}

async fn first_key_is_stored(storage: &Storage, key: &Credential) -> bool {
    storage.credentials.insert_first_key(key).await.answered()
}

/// `insert_first_key` MUST answer `false` when the store holds a key or has ever held one.
pub async fn stores_the_first_key_only_once(storage: &Storage) {
    let (first, second) = (samples::key(1), samples::key(2));
    assert!(!has_ever_held_a_key(storage).await);
    assert!(first_key_is_stored(storage, &first).await);
    assert!(has_ever_held_a_key(storage).await);
    assert!(!first_key_is_stored(storage, &second).await);
    assert!(!first_key_is_stored(storage, &first).await);
    let stored = found::credential(storage, &first).await;
    assert_eq!(stored.as_ref(), Some(&first));
    given::revoked(storage, &first, samples::at(9)).await;
    assert!(has_ever_held_a_key(storage).await);
    assert!(!first_key_is_stored(storage, &second).await);
    let keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    assert_eq!(keys.len(), 1);
}

/// A key that came in by `insert` counts as well, in whatever tenant.
pub async fn stores_no_first_key_after_any_other(storage: &Storage) {
    let other = Credential {
        tenant: given::another_tenant(storage).await,
        ..samples::key(1)
    };
    given::credential(storage, other).await;
    assert!(has_ever_held_a_key(storage).await);
    let second = samples::key(2);
    assert!(!first_key_is_stored(storage, &second).await);
    assert_eq!(found::credential(storage, &second).await, None);
}

/// Clients do not count, neither before the first key nor beside it.
pub async fn a_client_does_not_count_as_the_first_key(storage: &Storage) {
    let client = given::credential(storage, samples::client(1)).await;
    assert!(!has_ever_held_a_key(storage).await);
    let key = samples::key(1);
    assert!(first_key_is_stored(storage, &key).await);
    assert!(has_ever_held_a_key(storage).await);
    assert_eq!(found::credential(storage, &key).await, Some(key));
    assert_eq!(found::credential(storage, &client).await, Some(client));
}

/// The transaction of a refused `insert` leaves nothing behind: a key that was not stored does
/// not count.
pub async fn a_refused_key_does_not_count_as_the_first(storage: &Storage) {
    let (client, claim) = (samples::client(1), samples::claim("k"));
    let answer = storage.credentials.insert(&client, Some(&claim)).await;
    answer.done();
    let duplicate = Credential {
        id: client.id.clone(),
        ..samples::key(1)
    };
    assert_conflict(&storage.credentials.insert(&duplicate, None).await);
    let key = samples::key(1);
    let answer = storage.credentials.insert(&key, Some(&claim)).await;
    answer.repeated();
    assert!(!has_ever_held_a_key(storage).await);
    assert!(first_key_is_stored(storage, &key).await);
}

/// `insert_first_key` holds also when several ask at the same time.
pub async fn one_of_eight_racing_first_keys_is_stored(storage: &Storage) {
    let mut racers = JoinSet::new();
    for number in 1..=8 {
        let storage = storage.clone();
        racers.spawn(async move {
            let key = samples::key(number);
            first_key_is_stored(&storage, &key).await.then_some(key)
        });
    }
    let winners: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    assert_eq!(keys, winners);
}
