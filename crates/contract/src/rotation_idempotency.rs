//! `CredentialRepository`: a repeated request replaces a proof only once.

use domain::{Credential, IdempotencyEntry, IdempotencyRecord};
use ports::{Idempotent, NewProof, RepositoryError};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Store, fixture, lookup,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

async fn rotated(
    storage: &Store,
    like: &Credential,
    proof: &NewProof,
    entry: &IdempotencyEntry,
) -> Result<Idempotent<Option<Credential>>, RepositoryError> {
    let Credential {
        kind, tenant, id, ..
    } = like;
    let credentials = &storage.credentials;
    credentials
        .rotate(*kind, tenant, id, proof, Some(entry))
        .await
}

/// A credential of each kind and proof, with a proof that can replace its own.
fn credentials_with_new_proofs() -> [(Credential, NewProof); 3] {
    let signing = fixture::signing_client(2, fixture::key_set(1));
    [
        (fixture::key(1), fixture::new_secret(8, None)),
        (fixture::client(1), fixture::new_secret(8, None)),
        (signing, NewProof::Keys(fixture::key_set(2))),
    ]
}

async fn record_of(storage: &Store, entry: &IdempotencyEntry) -> IdempotencyRecord {
    let record = lookup::record(storage, entry).await;
    record.expect("the entry is record_of")
}

/// `rotate` MUST write the entry in the same transaction.
pub async fn the_idempotency_entry_is_stored_with_the_rotation(storage: &Store) {
    for (credential, proof) in credentials_with_new_proofs() {
        let credential = setup::credential(storage, credential).await;
        let entry = IdempotencyEntry {
            result: Some(json!({"id": credential.id, "none": null})),
            created_at: fixture::at(3),
            ..fixture::entry(credential.id.as_str())
        };
        let result = rotated(storage, &credential, &proof, &entry)
            .await
            .applied();
        assert_eq!(lookup::credential(storage, &credential).await, result);
        assert_ne!(result, Some(credential));
        let record = record_of(storage, &entry).await;
        assert_eq!(record.fingerprint, entry.fingerprint);
        assert_eq!(record.result, entry.result);
        assert_eq!(record.created_at, entry.created_at);
        assert_eq!(record.turn_id, None);
    }
}

/// `rotate` MUST write nothing if the key of the entry was used before, by the same command or
/// another, whatever else is wrong.
pub async fn a_used_key_rotates_nothing(storage: &Store) {
    let entry = fixture::entry("k");
    let first = setup::credential(storage, fixture::key(9)).await;
    let proof = fixture::new_secret(9, None);
    let result = rotated(storage, &first, &proof, &entry).await.applied();
    assert!(result.is_some());
    let record = record_of(storage, &entry).await;
    let other_command = IdempotencyEntry {
        fingerprint: fixture::entry("another").fingerprint,
        created_at: fixture::at(50),
        ..entry.clone()
    };
    for (credential, proof) in credentials_with_new_proofs() {
        let credential = setup::credential(storage, credential).await;
        let elsewhere = Credential {
            id: fixture::key_id(404),
            ..credential.clone()
        };
        let version = lookup::access_version(storage).await;
        for entry in [&entry, &other_command] {
            for named in [&credential, &elsewhere] {
                let result = rotated(storage, named, &proof, entry).await;
                assert_eq!(result.replayed(), record);
            }
        }
        let present = lookup::credential(storage, &credential).await;
        assert_eq!(present.as_ref(), Some(&credential));
        assert_eq!(lookup::access_version(storage).await, version);
        setup::revoke(storage, &credential, fixture::at(9)).await;
        let result = rotated(storage, &credential, &proof, &entry).await;
        assert_eq!(result.replayed(), record);
    }
    assert_eq!(record_of(storage, &entry).await, record);
}

/// A rejected rotation MUST NOT write its entry.
pub async fn a_rejected_rotation_writes_no_idempotency_entry(storage: &Store) {
    let entry = fixture::entry("k");
    let other = setup::second_tenant(storage).await;
    for (credential, proof) in credentials_with_new_proofs() {
        let credential = setup::credential(storage, credential).await;
        let missing = Credential {
            id: fixture::key_id(404),
            ..credential.clone()
        };
        let foreign = Credential {
            tenant: other.clone(),
            ..credential.clone()
        };
        let of_other_sort = match proof {
            NewProof::Secret { .. } => NewProof::Keys(fixture::key_set(2)),
            NewProof::Keys(_) => fixture::new_secret(8, None),
        };
        let rejected = [
            (&missing, &proof),
            (&foreign, &proof),
            (&credential, &of_other_sort),
        ];
        for (named, proof) in rejected {
            let result = rotated(storage, named, proof, &entry).await;
            assert_eq!(result.applied(), None);
        }
        setup::revoke(storage, &credential, fixture::at(9)).await;
        let result = rotated(storage, &credential, &proof, &entry).await;
        assert_eq!(result.applied(), None);
        assert_eq!(lookup::record(storage, &entry).await, None);
        let theirs = storage.idempotency.find(&other, &entry).await;
        assert_eq!(theirs.success(), None);
    }
}

/// Of several concurrent rotations with the same key, one is applied; the others are replayed.
pub async fn one_of_twenty_concurrent_rotations_with_one_key_is_applied(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let mut racers = JoinSet::new();
    for number in 11..=30 {
        let (storage, key) = (storage.clone(), key.clone());
        racers.spawn(async move {
            let (proof, entry) = (fixture::new_secret(number, None), fixture::entry("k"));
            let result = rotated(&storage, &key, &proof, &entry).await;
            match result.success() {
                Idempotent::Applied(rotated) => rotated,
                Idempotent::Replayed(record) => {
                    assert_eq!(record.fingerprint, entry.fingerprint);
                    None
                }
            }
        });
    }
    let done: Vec<Credential> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(done.len(), 1);
    let present = lookup::credential(storage, &key).await;
    assert_eq!(present.as_ref(), done.first());
}
