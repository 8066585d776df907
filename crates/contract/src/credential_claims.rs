//! `CredentialRepository`: a repeated request creates a key or client only once.

use domain::{Credential, CredentialKind, IdempotencyEntry, PrincipalId};
use ports::{Idempotent, Storage};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    fixture, lookup, pages,
    results::{IdempotentExt as _, ResultExt as _, assert_conflict},
    setup,
};

/// `insert` MUST write the claim in the same transaction.
pub async fn the_claim_is_stored_with_the_credential(storage: &Storage) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let claim = IdempotencyEntry {
            answer: Some(json!({"id": credential.id, "name": "Clé 🔑", "none": null})),
            created_at: fixture::at(3),
            ..fixture::claim(credential.id.as_str())
        };
        let result = storage.credentials.insert(&credential, Some(&claim)).await;
        result.applied();
        let record = lookup::claim(storage, &claim).await;
        let record = record.expect("the claim is stored");
        assert_eq!(record.fingerprint, claim.fingerprint);
        assert_eq!(record.answer, claim.answer);
        assert_eq!(record.created_at, claim.created_at);
        assert_eq!(record.turn_id, None);
        let stored = lookup::credential(storage, &credential).await;
        assert_eq!(stored, Some(credential));
    }
}

/// `insert` MUST write nothing if the claim's key was used before, by the same command or another,
/// whatever it would create.
pub async fn a_used_key_creates_no_second_credential(storage: &Storage) {
    let claim = fixture::claim("k");
    let first = fixture::key(1);
    let result = storage.credentials.insert(&first, Some(&claim)).await;
    result.applied();
    let record = lookup::claim(storage, &claim).await;
    let record = record.expect("the claim is stored");
    let other_command = IdempotencyEntry {
        fingerprint: fixture::claim("another").fingerprint,
        created_at: fixture::at(50),
        ..claim.clone()
    };
    for second in [fixture::key(2), fixture::client(1)] {
        for claim in [&claim, &other_command] {
            let result = storage.credentials.insert(&second, Some(claim)).await;
            assert_eq!(result.replayed(), record);
            assert_eq!(lookup::credential(storage, &second).await, None);
        }
    }
    assert_eq!(lookup::claim(storage, &claim).await, Some(record));
}

/// The key is checked before the id: an identical request receives the record, not `Conflict`.
pub async fn a_used_key_is_checked_before_a_duplicate_id(storage: &Storage) {
    let (key, claim) = (fixture::key(1), fixture::claim("k"));
    let result = storage.credentials.insert(&key, Some(&claim)).await;
    result.applied();
    let again = storage.credentials.insert(&key, Some(&claim)).await;
    assert_eq!(again.replayed().fingerprint, claim.fingerprint);
    assert_eq!(lookup::credential(storage, &key).await, Some(key));
}

/// A key that another operation of the same principal, or another principal, has used counts as
/// unused.
pub async fn keys_of_other_operations_and_principals_can_create_credentials(storage: &Storage) {
    let first = fixture::claim("k");
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
    for (number, claim) in (1..).zip([first].iter().chain(&others)) {
        let key = fixture::key(number);
        storage
            .credentials
            .insert(&key, Some(claim))
            .await
            .applied();
        assert_eq!(lookup::credential(storage, &key).await, Some(key));
    }
}

/// A key that one tenant has used counts as unused in another.
pub async fn claims_of_credentials_belong_to_one_tenant(storage: &Storage) {
    let (own, claim) = (fixture::key(1), fixture::claim("k"));
    let theirs = Credential {
        tenant: setup::second_tenant(storage).await,
        ..fixture::key(2)
    };
    for key in [&own, &theirs] {
        let result = storage.credentials.insert(key, Some(&claim)).await;
        result.applied();
        assert_eq!(lookup::credential(storage, key).await.as_ref(), Some(key));
    }
    for key in [own, theirs] {
        let again = Credential {
            id: fixture::key_id(3),
            ..key
        };
        let result = storage.credentials.insert(&again, Some(&claim)).await;
        assert_eq!(result.replayed().fingerprint, claim.fingerprint);
    }
}

/// A rejected `insert` does not write its claim.
pub async fn a_rejected_credential_writes_no_claim(storage: &Storage) {
    let (key, claim) = (fixture::key(1), fixture::claim("k"));
    setup::credential(storage, key.clone()).await;
    assert_conflict(&storage.credentials.insert(&key, Some(&claim)).await);
    assert_eq!(lookup::claim(storage, &claim).await, None);
    let second = fixture::key(2);
    let result = storage.credentials.insert(&second, Some(&claim)).await;
    result.applied();
    assert_eq!(lookup::credential(storage, &second).await, Some(second));
}

/// Of several concurrent inserts with the same key, one is applied.
pub async fn one_of_twenty_concurrent_credentials_with_one_key_is_created(storage: &Storage) {
    let mut racers = JoinSet::new();
    for number in 1..=20 {
        let storage = storage.clone();
        racers.spawn(async move {
            let (key, claim) = (fixture::key(number), fixture::claim("k"));
            match storage
                .credentials
                .insert(&key, Some(&claim))
                .await
                .success()
            {
                Idempotent::Applied(()) => Some(key),
                Idempotent::Replayed(record) => {
                    assert_eq!(record.fingerprint, claim.fingerprint);
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
pub async fn many_credentials_can_be_created_at_once(storage: &Storage) {
    let mut writers = JoinSet::new();
    for number in 1..=16 {
        let storage = storage.clone();
        writers.spawn(async move {
            let key = fixture::key(number);
            let claim = fixture::claim(key.id.as_str());
            let result = storage.credentials.insert(&key, Some(&claim)).await;
            result.applied();
        });
    }
    writers.join_all().await;
    let mut keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    keys.sort_by_key(|key| key.created_at);
    let expected: Vec<_> = (1..=16).map(fixture::key).collect();
    assert_eq!(keys, expected);
}
