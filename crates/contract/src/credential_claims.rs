//! `CredentialRepository`: a key or client is made once, however often it is asked for.

use domain::{Credential, CredentialKind, IdempotencyClaim, PrincipalId};
use ports::{Once, Storage};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    answers::{Answer as _, OnceAnswer as _, assert_conflict},
    found, given, pages, samples,
};

/// `insert` MUST write the claim in the same transaction.
pub async fn records_the_claim_with_the_credential(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let claim = IdempotencyClaim {
            answer: Some(json!({"id": credential.id, "name": "Clé 🔑", "none": null})),
            created_at: samples::at(3),
            ..samples::claim(credential.id.as_str())
        };
        let answer = storage.credentials.insert(&credential, Some(&claim)).await;
        answer.done();
        let record = found::claim(storage, &claim).await;
        let record = record.expect("the claim is remembered");
        assert_eq!(record.fingerprint, claim.fingerprint);
        assert_eq!(record.answer, claim.answer);
        assert_eq!(record.created_at, claim.created_at);
        assert_eq!(record.turn_id, None);
        let stored = found::credential(storage, &credential).await;
        assert_eq!(stored, Some(credential));
    }
}

/// `insert` MUST write nothing when the claim's key was used before: not by the same command,
/// and not by another, whatever it makes.
pub async fn a_used_key_makes_no_second_credential(storage: &Storage) {
    let claim = samples::claim("k");
    let first = samples::key(1);
    let answer = storage.credentials.insert(&first, Some(&claim)).await;
    answer.done();
    let record = found::claim(storage, &claim).await;
    let record = record.expect("the claim is remembered");
    let other_command = IdempotencyClaim {
        fingerprint: samples::claim("another").fingerprint,
        created_at: samples::at(50),
        ..claim.clone()
    };
    for second in [samples::key(2), samples::client(1)] {
        for claim in [&claim, &other_command] {
            let answer = storage.credentials.insert(&second, Some(claim)).await;
            assert_eq!(answer.repeated(), record);
            assert_eq!(found::credential(storage, &second).await, None);
        }
    }
    assert_eq!(found::claim(storage, &claim).await, Some(record));
}

/// The key is judged before the id: whoever sends the very same again is answered the record.
pub async fn a_used_key_is_told_before_a_duplicate_id(storage: &Storage) {
    let (key, claim) = (samples::key(1), samples::claim("k"));
    let answer = storage.credentials.insert(&key, Some(&claim)).await;
    answer.done();
    let again = storage.credentials.insert(&key, Some(&claim)).await;
    assert_eq!(again.repeated().fingerprint, claim.fingerprint);
    assert_eq!(found::credential(storage, &key).await, Some(key));
}

/// A key that another operation of the same principal used, or another principal, is unused.
pub async fn credentials_are_made_under_keys_that_others_used(storage: &Storage) {
    let first = samples::claim("k");
    let others = [
        IdempotencyClaim {
            operation: "POST /api/others",
            ..first.clone()
        },
        IdempotencyClaim {
            principal: PrincipalId::new("key:Sample000002"),
            ..first.clone()
        },
    ];
    for (number, claim) in (1..).zip([first].iter().chain(&others)) {
        let key = samples::key(number);
        storage.credentials.insert(&key, Some(claim)).await.done();
        assert_eq!(found::credential(storage, &key).await, Some(key));
    }
}

/// A key that one tenant used is unused in another.
pub async fn claims_of_credentials_are_each_tenants_own(storage: &Storage) {
    let (own, claim) = (samples::key(1), samples::claim("k"));
    let theirs = Credential {
        tenant: given::another_tenant(storage).await,
        ..samples::key(2)
    };
    for key in [&own, &theirs] {
        let answer = storage.credentials.insert(key, Some(&claim)).await;
        answer.done();
        assert_eq!(found::credential(storage, key).await.as_ref(), Some(key));
    }
    for key in [own, theirs] {
        let again = Credential {
            id: samples::key_id(3),
            ..key
        };
        let answer = storage.credentials.insert(&again, Some(&claim)).await;
        assert_eq!(answer.repeated().fingerprint, claim.fingerprint);
    }
}

/// The transaction of a refused `insert` leaves no claim behind.
pub async fn a_refused_credential_leaves_no_claim(storage: &Storage) {
    let (key, claim) = (samples::key(1), samples::claim("k"));
    given::credential(storage, key.clone()).await;
    assert_conflict(&storage.credentials.insert(&key, Some(&claim)).await);
    assert_eq!(found::claim(storage, &claim).await, None);
    let second = samples::key(2);
    let answer = storage.credentials.insert(&second, Some(&claim)).await;
    answer.done();
    assert_eq!(found::credential(storage, &second).await, Some(second));
}

/// `insert` holds its claim also when several ask at the same time.
pub async fn one_of_twenty_racing_credentials_with_one_key_is_made(storage: &Storage) {
    let mut racers = JoinSet::new();
    for number in 1..=20 {
        let storage = storage.clone();
        racers.spawn(async move {
            let (key, claim) = (samples::key(number), samples::claim("k"));
            match storage
                .credentials
                .insert(&key, Some(&claim))
                .await
                .answered()
            {
                Once::Done(()) => Some(key),
                Once::Repeated(record) => {
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

/// Inserts with keys of their own do not hinder each other.
pub async fn many_credentials_are_made_at_once(storage: &Storage) {
    let mut writers = JoinSet::new();
    for number in 1..=16 {
        let storage = storage.clone();
        writers.spawn(async move {
            let key = samples::key(number);
            let claim = samples::claim(key.id.as_str());
            let answer = storage.credentials.insert(&key, Some(&claim)).await;
            answer.done();
        });
    }
    writers.join_all().await;
    let mut keys = pages::credentials(storage, CredentialKind::Key, 10).await;
    keys.sort_by_key(|key| key.created_at);
    let expected: Vec<_> = (1..=16).map(samples::key).collect();
    assert_eq!(keys, expected);
}
