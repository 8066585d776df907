//! `CredentialRepository`: the first key of a store, which is created once.

use domain::{Credential, CredentialKind};

use tokio::task::JoinSet;

use crate::{
    Store, fixture, lookup, pages,
    results::{IdempotentExt as _, ResultExt as _, assert_conflict},
    setup,
};

async fn has_ever_held_a_key(storage: &Store) -> bool {
    storage.credentials.has_ever_held_a_key().await.success()
}

async fn first_key_is_stored(storage: &Store, key: &Credential) -> bool {
    storage
        .credentials
        .insert_first_key(key, Box::new(|| true))
        .await
        .success()
}

/// `insert_first_key` MUST delete a key that could not be shown, and MUST NOT count it.
pub async fn a_first_key_that_could_not_be_shown_does_not_count(storage: &Store) {
    let (unshown, next) = (fixture::key(1), fixture::key(2));
    let show = Box::new(|| false);
    let stored = storage.credentials.insert_first_key(&unshown, show).await;
    assert!(!stored.success());
    assert_eq!(lookup::credential(storage, &unshown).await, None);
    assert!(!has_ever_held_a_key(storage).await);
    assert!(first_key_is_stored(storage, &next).await);
    assert_eq!(lookup::credential(storage, &next).await, Some(next));
}

/// `insert_first_key` MUST call `show` after the commit. A process that ends during `show` MUST NOT
/// prevent the next first key, nor make the shown key invalid.
pub async fn a_first_key_whose_process_ended_while_showing_it_stays_but_does_not_count(
    storage: &Store,
) {
    let (first, next) = (fixture::key(1), fixture::key(2));
    let mut process = JoinSet::new();
    let (credentials, key) = (storage.credentials.clone(), first.clone());
    process.spawn(async move {
        let show = Box::new(|| panic!("the process ends here, for the test"));
        credentials.insert_first_key(&key, show).await
    });
    let ended = process.join_next().await.expect("a task");
    assert!(ended.is_err_and(|ended| ended.is_panic()));
    assert_eq!(
        lookup::credential(storage, &first).await.as_ref(),
        Some(&first)
    );
    assert!(!has_ever_held_a_key(storage).await);
    // The same key again, because the operator can choose it.
    assert!(first_key_is_stored(storage, &first).await);
    assert!(!first_key_is_stored(storage, &next).await);
    assert_eq!(lookup::credential(storage, &first).await, Some(first));
}

/// `insert_first_key` MUST NOT show a key that it does not store.
pub async fn no_key_is_shown_after_the_first(storage: &Store) {
    assert!(first_key_is_stored(storage, &fixture::key(1)).await);
    let show = Box::new(|| panic!("the key is shown"));
    let second = fixture::key(2);
    let stored = storage.credentials.insert_first_key(&second, show).await;
    assert!(!stored.success());
}

/// `insert_first_key` MUST return `false` if the store holds a key or has ever held one.
pub async fn the_first_key_is_stored_only_once(storage: &Store) {
    let (first, second) = (fixture::key(1), fixture::key(2));
    assert!(!has_ever_held_a_key(storage).await);
    assert!(first_key_is_stored(storage, &first).await);
    assert!(has_ever_held_a_key(storage).await);
    assert!(!first_key_is_stored(storage, &second).await);
    assert!(!first_key_is_stored(storage, &first).await);
    let stored = lookup::credential(storage, &first).await;
    assert_eq!(stored.as_ref(), Some(&first));
    setup::revoke(storage, &first, fixture::at(9)).await;
    assert!(has_ever_held_a_key(storage).await);
    assert!(!first_key_is_stored(storage, &second).await);
    let keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    assert_eq!(keys.len(), 1);
}

/// A key that was stored by `insert` counts as well, in any tenant.
pub async fn a_first_key_is_not_stored_after_another_key(storage: &Store) {
    let other = Credential {
        tenant: setup::second_tenant(storage).await,
        ..fixture::key(1)
    };
    setup::credential(storage, other).await;
    assert!(has_ever_held_a_key(storage).await);
    let second = fixture::key(2);
    assert!(!first_key_is_stored(storage, &second).await);
    assert_eq!(lookup::credential(storage, &second).await, None);
}

/// Clients do not count, neither before nor after the first key.
pub async fn a_client_does_not_count_as_the_first_key(storage: &Store) {
    let client = setup::credential(storage, fixture::client(1)).await;
    assert!(!has_ever_held_a_key(storage).await);
    let key = fixture::key(1);
    assert!(first_key_is_stored(storage, &key).await);
    assert!(has_ever_held_a_key(storage).await);
    assert_eq!(lookup::credential(storage, &key).await, Some(key));
    assert_eq!(lookup::credential(storage, &client).await, Some(client));
}

/// A rejected `insert` writes nothing: its key does not count.
pub async fn a_rejected_key_does_not_count_as_the_first_key(storage: &Store) {
    let (client, entry) = (fixture::client(1), fixture::entry("k"));
    let result = storage.credentials.insert(&client, Some(&entry)).await;
    result.applied();
    let duplicate = Credential {
        id: client.id.clone(),
        ..fixture::key(1)
    };
    assert_conflict(&storage.credentials.insert(&duplicate, None).await);
    let key = fixture::key(1);
    let result = storage.credentials.insert(&key, Some(&entry)).await;
    result.replayed();
    assert!(!has_ever_held_a_key(storage).await);
    assert!(first_key_is_stored(storage, &key).await);
}

/// Of several concurrent first keys, one is stored.
pub async fn one_of_eight_concurrent_first_keys_is_stored(storage: &Store) {
    let mut racers = JoinSet::new();
    for number in 1..=8 {
        let storage = storage.clone();
        racers.spawn(async move {
            let key = fixture::key(number);
            first_key_is_stored(&storage, &key).await.then_some(key)
        });
    }
    let winners: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    assert_eq!(keys, winners);
}
