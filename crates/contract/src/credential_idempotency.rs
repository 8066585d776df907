//! `CredentialRepository`: a repeated request creates a key or client only once.

use domain::{Credential, CredentialKind, IdempotencyEntry, PrincipalId};
use ports::Idempotent;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Store, fixture, lookup, pages,
    results::{IdempotentExt as _, ResultExt as _, assert_conflict},
    setup,
};

/// `insert` MUST write the entry in the same transaction.
pub async fn the_idempotency_entry_is_stored_with_the_credential(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let entry = IdempotencyEntry {
            result: Some(json!({"id": credential.id, "name": "Clé 🔑", "none": null})),
            created_at: fixture::at(3),
            ..fixture::entry(credential.id.as_str())
        };
        let result = storage.credentials.insert(&credential, Some(&entry)).await;
        result.applied();
        let record = lookup::record(storage, &entry).await;
        let record = record.expect("the entry is stored");
        assert_eq!(record.fingerprint, entry.fingerprint);
        assert_eq!(record.result, entry.result);
        assert_eq!(record.created_at, entry.created_at);
        assert_eq!(record.turn_id, None);
        let stored = lookup::credential(storage, &credential).await;
        assert_eq!(stored, Some(credential));
    }
}

/// `insert` MUST write nothing if the key of the entry was used before, by the same command or
/// another, whatever it would create.
pub async fn a_used_key_creates_no_second_credential(storage: &Store) {
    let entry = fixture::entry("k");
    let first = fixture::key(1);
    let result = storage.credentials.insert(&first, Some(&entry)).await;
    result.applied();
    let record = lookup::record(storage, &entry).await;
    let record = record.expect("the entry is stored");
    let other_command = IdempotencyEntry {
        fingerprint: fixture::entry("another").fingerprint,
        created_at: fixture::at(50),
        ..entry.clone()
    };
    for second in [fixture::key(2), fixture::client(1)] {
        for entry in [&entry, &other_command] {
            let result = storage.credentials.insert(&second, Some(entry)).await;
            assert_eq!(result.replayed(), record);
            assert_eq!(lookup::credential(storage, &second).await, None);
        }
    }
    assert_eq!(lookup::record(storage, &entry).await, Some(record));
}

/// The key is checked before the id: an identical request receives the record, not `Conflict`.
pub async fn a_used_key_is_checked_before_a_duplicate_id(storage: &Store) {
    let (key, entry) = (fixture::key(1), fixture::entry("k"));
    let result = storage.credentials.insert(&key, Some(&entry)).await;
    result.applied();
    let again = storage.credentials.insert(&key, Some(&entry)).await;
    assert_eq!(again.replayed().fingerprint, entry.fingerprint);
    assert_eq!(lookup::credential(storage, &key).await, Some(key));
}

/// A key that another operation of the same principal, or another principal, has used counts as
/// unused.
pub async fn keys_of_other_operations_and_principals_can_create_credentials(storage: &Store) {
    let first = fixture::entry("k");
    let others = [
        IdempotencyEntry {
            operation: "POST /api/others",
            ..first.clone()
        },
        IdempotencyEntry {
            principal: PrincipalId::new("key:Sample000002"),
            ..first.clone()
        },
    ];
    for (number, entry) in (1..).zip([first].iter().chain(&others)) {
        let key = fixture::key(number);
        storage
            .credentials
            .insert(&key, Some(entry))
            .await
            .applied();
        assert_eq!(lookup::credential(storage, &key).await, Some(key));
    }
}

/// A key that one tenant has used counts as unused in another.
pub async fn idempotency_keys_of_credentials_belong_to_one_tenant(storage: &Store) {
    let (own, entry) = (fixture::key(1), fixture::entry("k"));
    let theirs = Credential {
        tenant: setup::second_tenant(storage).await,
        ..fixture::key(2)
    };
    for key in [&own, &theirs] {
        let result = storage.credentials.insert(key, Some(&entry)).await;
        result.applied();
        assert_eq!(lookup::credential(storage, key).await.as_ref(), Some(key));
    }
    for key in [own, theirs] {
        let again = Credential {
            id: fixture::key_id(3),
            ..key
        };
        let result = storage.credentials.insert(&again, Some(&entry)).await;
        assert_eq!(result.replayed().fingerprint, entry.fingerprint);
    }
}

/// A rejected `insert` does not write its entry.
pub async fn a_rejected_credential_writes_no_idempotency_entry(storage: &Store) {
    let (key, entry) = (fixture::key(1), fixture::entry("k"));
    setup::credential(storage, key.clone()).await;
    assert_conflict(&storage.credentials.insert(&key, Some(&entry)).await);
    assert_eq!(lookup::record(storage, &entry).await, None);
    let second = fixture::key(2);
    let result = storage.credentials.insert(&second, Some(&entry)).await;
    result.applied();
    assert_eq!(lookup::credential(storage, &second).await, Some(second));
}

/// Of several concurrent inserts with the same key, one is applied.
pub async fn one_of_twenty_concurrent_credentials_with_one_key_is_created(storage: &Store) {
    let mut racers = JoinSet::new();
    for number in 1..=20 {
        let storage = storage.clone();
        racers.spawn(async move {
            let (key, entry) = (fixture::key(number), fixture::entry("k"));
            match storage
                .credentials
                .insert(&key, Some(&entry))
                .await
                .success()
            {
                Idempotent::Applied(()) => Some(key),
                Idempotent::Replayed(record) => {
                    assert_eq!(record.fingerprint, entry.fingerprint);
                    None
                }
            }
        });
    }
    let made: Vec<Credential> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(made.len(), 1);
    let keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    assert_eq!(keys, made);
}

/// Inserts with different keys do not block each other.
pub async fn many_credentials_can_be_created_at_once(storage: &Store) {
    let mut writers = JoinSet::new();
    for number in 1..=16 {
        let storage = storage.clone();
        writers.spawn(async move {
            let key = fixture::key(number);
            let entry = fixture::entry(key.id.as_str());
            let result = storage.credentials.insert(&key, Some(&entry)).await;
            result.applied();
        });
    }
    writers.join_all().await;
    let mut keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    keys.sort_by_key(|key| key.created_at);
    let expected: Vec<_> = (1..=16).map(fixture::key).collect();
    assert_eq!(keys, expected);
}
