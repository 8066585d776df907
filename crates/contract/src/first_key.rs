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
    storage
        .credentials
        .insert_first_key(key, Box::new(|| true))
        .await
        .answered()
}

/// `insert_first_key` MUST delete a key that could not be shown, and MUST NOT count it.
pub async fn a_first_key_that_could_not_be_shown_does_not_count(storage: &Storage) {
    let (unshown, next) = (samples::key(1), samples::key(2));
    let show = Box::new(|| false);
    let stored = storage.credentials.insert_first_key(&unshown, show).await;
    assert!(!stored.answered());
    assert_eq!(found::credential(storage, &unshown).await, None);
    assert!(!has_ever_held_a_key(storage).await);
    assert!(first_key_is_stored(storage, &next).await);
    assert_eq!(found::credential(storage, &next).await, Some(next));
}

/// `insert_first_key` MUST call `show` after the commit; a process that ends in it MUST NOT
/// prevent the next first key, nor make the shown one invalid.
pub async fn a_first_key_whose_process_ended_while_it_was_shown_stays_and_does_not_count(
    storage: &Storage,
) {
    let (first, next) = (samples::key(1), samples::key(2));
    let mut process = JoinSet::new();
    let (credentials, key) = (storage.credentials.clone(), first.clone());
    process.spawn(async move {
        let show = Box::new(|| panic!("the process ends here, for the test"));
        credentials.insert_first_key(&key, show).await
    });
    let ended = process.join_next().await.expect("a task");
    assert!(ended.is_err_and(|ended| ended.is_panic()));
    assert_eq!(
        found::credential(storage, &first).await.as_ref(),
        Some(&first)
    );
    assert!(!has_ever_held_a_key(storage).await);
    // The same one again, when the operator chose it.
    assert!(first_key_is_stored(storage, &first).await);
    assert!(!first_key_is_stored(storage, &next).await);
    assert_eq!(found::credential(storage, &first).await, Some(first));
}

/// `insert_first_key` MUST NOT show a key that it does not store.
pub async fn no_key_is_shown_after_the_first(storage: &Storage) {
    assert!(first_key_is_stored(storage, &samples::key(1)).await);
    let show = Box::new(|| panic!("the key is shown"));
    let second = samples::key(2);
    let stored = storage.credentials.insert_first_key(&second, show).await;
    assert!(!stored.answered());
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
