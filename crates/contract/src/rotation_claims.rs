//! `CredentialRepository`: a proof is replaced once, however often that is asked for.

use domain::{Credential, IdempotencyClaim, IdempotencyRecord};
use ports::{NewProof, Once, RepositoryError, Storage};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    found, given, samples,
};

async fn rotated(
    storage: &Storage,
    like: &Credential,
    proof: &NewProof,
    claim: &IdempotencyClaim,
) -> Result<Once<Option<Credential>>, RepositoryError> {
    let Credential {
        kind, tenant, id, ..
    } = like;
    let credentials = &storage.credentials;
    credentials
        .rotate(*kind, tenant, id, proof, Some(claim))
        .await
}

/// A credential of each kind and sort, and what can take the place of its proof.
fn samples_of_all_sorts() -> [(Credential, NewProof); 3] {
    let signing = samples::signing_client(2, samples::key_set(1));
    [
        (samples::key(1), samples::new_secret(8, None)),
        (samples::client(1), samples::new_secret(8, None)),
        (signing, NewProof::Keys(samples::key_set(2))),
    ]
}

async fn remembered(storage: &Storage, claim: &IdempotencyClaim) -> IdempotencyRecord {
    let record = found::claim(storage, claim).await;
    record.expect("the claim is remembered")
}

/// `rotate` MUST write the claim in the same transaction.
pub async fn records_the_claim_with_the_rotation(storage: &Storage) {
    for (credential, proof) in samples_of_all_sorts() {
        let credential = given::credential(storage, credential).await;
        let claim = IdempotencyClaim {
            answer: Some(json!({"id": credential.id, "none": null})),
            created_at: samples::at(3),
            ..samples::claim(credential.id.as_str())
        };
        let answer = rotated(storage, &credential, &proof, &claim).await.done();
        assert_eq!(found::credential(storage, &credential).await, answer);
        assert_ne!(answer, Some(credential));
        let record = remembered(storage, &claim).await;
        assert_eq!(record.fingerprint, claim.fingerprint);
        assert_eq!(record.answer, claim.answer);
        assert_eq!(record.created_at, claim.created_at);
        assert_eq!(record.turn_id, None);
    }
}

/// `rotate` MUST write nothing when the claim's key was used before: not by the same command, not
/// by another, and whatever else is wrong.
pub async fn a_used_key_rotates_nothing(storage: &Storage) {
    let claim = samples::claim("k");
    let first = given::credential(storage, samples::key(9)).await;
    let proof = samples::new_secret(9, None);
    let answer = rotated(storage, &first, &proof, &claim).await.done();
    assert!(answer.is_some());
    let record = remembered(storage, &claim).await;
    let other_command = IdempotencyClaim {
        fingerprint: samples::claim("another").fingerprint,
        created_at: samples::at(50),
        ..claim.clone()
    };
    for (credential, proof) in samples_of_all_sorts() {
        let credential = given::credential(storage, credential).await;
        let elsewhere = Credential {
            id: samples::key_id(404),
            ..credential.clone()
        };
        let version = found::access_version(storage).await;
        for claim in [&claim, &other_command] {
            for named in [&credential, &elsewhere] {
                let answer = rotated(storage, named, &proof, claim).await;
                assert_eq!(answer.repeated(), record);
            }
        }
        let present = found::credential(storage, &credential).await;
        assert_eq!(present.as_ref(), Some(&credential));
        assert_eq!(found::access_version(storage).await, version);
        given::revoked(storage, &credential, samples::at(9)).await;
        let answer = rotated(storage, &credential, &proof, &claim).await;
        assert_eq!(answer.repeated(), record);
    }
    assert_eq!(remembered(storage, &claim).await, record);
}

/// A rotation that is not carried out MUST NOT write its claim.
pub async fn a_refused_rotation_leaves_no_claim(storage: &Storage) {
    let claim = samples::claim("k");
    let other = given::another_tenant(storage).await;
    for (credential, proof) in samples_of_all_sorts() {
        let credential = given::credential(storage, credential).await;
        let missing = Credential {
            id: samples::key_id(404),
            ..credential.clone()
        };
        let foreign = Credential {
            tenant: other.clone(),
            ..credential.clone()
        };
        let of_other_sort = match proof {
            NewProof::Secret { .. } => NewProof::Keys(samples::key_set(2)),
            NewProof::Keys(_) => samples::new_secret(8, None),
        };
        let refused = [
            (&missing, &proof),
            (&foreign, &proof),
            (&credential, &of_other_sort),
        ];
        for (named, proof) in refused {
            let answer = rotated(storage, named, proof, &claim).await;
            assert_eq!(answer.done(), None);
        }
        given::revoked(storage, &credential, samples::at(9)).await;
        let answer = rotated(storage, &credential, &proof, &claim).await;
        assert_eq!(answer.done(), None);
        assert_eq!(found::claim(storage, &claim).await, None);
        let theirs = storage.claims.find(&other, &claim).await;
        assert_eq!(theirs.answered(), None);
    }
}

/// Of rotations with one key at the same time, one is carried out; the others repeat it.
pub async fn one_of_twenty_racing_rotations_with_one_key_is_carried_out(storage: &Storage) {
    let key = given::credential(storage, samples::key(1)).await;
    let mut racers = JoinSet::new();
    for number in 11..=30 {
        let (storage, key) = (storage.clone(), key.clone());
        racers.spawn(async move {
            let (proof, claim) = (samples::new_secret(number, None), samples::claim("k"));
            let answer = rotated(&storage, &key, &proof, &claim).await;
            match answer.answered() {
                Once::Done(rotated) => rotated,
                Once::Repeated(record) => {
                    assert_eq!(record.fingerprint, claim.fingerprint);
                    None
                }
            }
        });
    }
    let done: Vec<Credential> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(done.len(), 1);
    let present = found::credential(storage, &key).await;
    assert_eq!(present.as_ref(), done.first());
}
