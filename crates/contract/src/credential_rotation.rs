//! `CredentialRepository`: a new proof in place of the one before.

use domain::{
    Credential, CredentialId, CredentialKind, LimitOverrides, SecretDigest, Timestamp,
    credential::{Proof, PublicKeys, StoredSecret},
};
use ports::{NewProof, Storage};
use tokio::task::JoinSet;

use crate::{answers::OnceAnswer as _, found, given, samples};

async fn rotated(storage: &Storage, like: &Credential, proof: &NewProof) -> Option<Credential> {
    let Credential {
        kind, tenant, id, ..
    } = like;
    let credentials = &storage.credentials;
    let answer = credentials.rotate(*kind, tenant, id, proof, None).await;
    answer.done()
}

/// What a credential is after its rotation to [`samples::new_secret`].
fn with_secret(
    credential: &Credential,
    number: u8,
    previous: Option<(SecretDigest, Timestamp)>,
) -> Credential {
    Credential {
        proof: Proof::Secret(StoredSecret {
            digest: samples::digest(number),
            last4: format!("r{number:03}"),
            previous,
        }),
        ..credential.clone()
    }
}

/// Fails unless the store answered and holds just this.
async fn assert_became(storage: &Storage, answer: Option<Credential>, expected: &Credential) {
    assert_eq!(answer.as_ref(), Some(expected), "as answered");
    let found = found::credential(storage, expected).await;
    assert_eq!(found.as_ref(), Some(expected), "as found");
}

/// Fails unless `rotate` answers `None` to this and changes nothing of `credential`.
async fn assert_refused(
    storage: &Storage,
    credential: &Credential,
    (kind, id): (CredentialKind, &CredentialId),
    proof: &NewProof,
) {
    let present = found::credential(storage, credential).await;
    let version = found::access_version(storage).await;
    let (credentials, tenant) = (&storage.credentials, &credential.tenant);
    let answer = credentials.rotate(kind, tenant, id, proof, None).await;
    assert_eq!(answer.done(), None, "{id} as {kind:?} to {proof:?}");
    assert_eq!(found::credential(storage, credential).await, present);
    assert_eq!(found::access_version(storage).await, version);
}

/// `rotate` gives a new secret, keeps the one before until the time given, and answers the
/// credential as it is then.
pub async fn keeps_the_secret_before_until_its_time(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let credential = given::credential(storage, credential).await;
        let until = samples::at(5_000);
        let answer = rotated(storage, &credential, &samples::new_secret(8, Some(until))).await;
        let expected = with_secret(&credential, 8, Some((samples::digest(7), until)));
        assert_became(storage, answer, &expected).await;
    }
}

/// Without a time for the secret before, the new one alone is good.
pub async fn a_rotation_without_overlap_forgets_the_secret_before(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let credential = given::credential(storage, credential).await;
        let answer = rotated(storage, &credential, &samples::new_secret(8, None)).await;
        assert_became(storage, answer, &with_secret(&credential, 8, None)).await;
    }
}

/// `rotate` MUST forget any secret older than the one before, however long it was to be kept.
pub async fn a_second_rotation_forgets_the_oldest_secret(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let credential = given::credential(storage, credential).await;
        let late = samples::new_secret(8, Some(samples::at(9_000_000)));
        assert!(rotated(storage, &credential, &late).await.is_some());
        let until = samples::at(100);
        let answer = rotated(storage, &credential, &samples::new_secret(9, Some(until))).await;
        let expected = with_secret(&credential, 9, Some((samples::digest(8), until)));
        assert_became(storage, answer, &expected).await;
        let answer = rotated(storage, &credential, &samples::new_secret(10, None)).await;
        assert_became(storage, answer, &with_secret(&credential, 10, None)).await;
    }
}

/// A rotation changes the proof of one credential, and nothing else.
pub async fn a_rotation_changes_the_proof_alone(storage: &Storage) {
    let credential = Credential {
        expires_at: Some(samples::at(12)),
        last_used_at: Some(samples::at(13)),
        allowed_origins: vec!["https://b.example".to_owned()],
        limits: LimitOverrides {
            chat_burst: Some(3),
            ..LimitOverrides::default()
        },
        ..samples::key(1)
    };
    let credential = given::credential(storage, credential).await;
    let others = [samples::key(2), samples::client(1)];
    for other in &others {
        given::credential(storage, other.clone()).await;
    }
    let until = samples::at(5_000);
    let answer = rotated(storage, &credential, &samples::new_secret(8, Some(until))).await;
    let expected = with_secret(&credential, 8, Some((samples::digest(7), until)));
    assert_became(storage, answer, &expected).await;
    for other in others {
        assert_eq!(found::credential(storage, &other).await, Some(other));
    }
}

/// `rotate` MUST raise the access version, each time and for each sort of proof.
pub async fn rotation_raises_the_access_version(storage: &Storage) {
    let signing = samples::signing_client(2, samples::key_set(1));
    for (credential, proof) in [
        (samples::key(1), samples::new_secret(8, None)),
        (
            samples::client(1),
            samples::new_secret(8, Some(samples::at(9))),
        ),
        (signing, NewProof::Keys(samples::key_set(2))),
    ] {
        let credential = given::credential(storage, credential).await;
        for _ in 0..2 {
            let before = found::access_version(storage).await;
            assert!(rotated(storage, &credential, &proof).await.is_some());
            assert!(found::access_version(storage).await > before);
        }
    }
}

/// `rotate` MUST change nothing and answer `None` when the credential is revoked.
pub async fn rotates_no_revoked_credential(storage: &Storage) {
    let signing = samples::signing_client(2, samples::key_set(1));
    for (credential, proof) in [
        (samples::key(1), samples::new_secret(8, None)),
        (samples::client(1), samples::new_secret(8, None)),
        (signing, NewProof::Keys(samples::key_set(2))),
    ] {
        let credential = given::credential(storage, credential).await;
        given::revoked(storage, &credential, samples::at(9)).await;
        let named = (credential.kind, &credential.id);
        assert_refused(storage, &credential, named, &proof).await;
    }
}

/// `rotate` MUST change nothing and answer `None` when there is no credential of this id and kind.
pub async fn rotates_no_credential_that_is_not_there(storage: &Storage) {
    let key = given::credential(storage, samples::key(1)).await;
    let client = given::credential(storage, samples::client(1)).await;
    let proof = samples::new_secret(8, Some(samples::at(5_000)));
    let (no_key, no_client) = (samples::key_id(404), samples::client_id(404));
    assert_refused(storage, &key, (key.kind, &no_key), &proof).await;
    assert_refused(storage, &key, (client.kind, &key.id), &proof).await;
    assert_refused(storage, &client, (client.kind, &no_client), &proof).await;
    assert_refused(storage, &client, (key.kind, &client.id), &proof).await;
}

/// `rotate` MUST change nothing and answer `None` when the proof is of the other sort.
pub async fn rotates_no_proof_into_the_other_sort(storage: &Storage) {
    let place = PublicKeys::At("https://client.example/jwks.json".to_owned());
    for keys in [samples::key_set(2), place.clone()] {
        let proof = NewProof::Keys(keys);
        for credential in [samples::key(1), samples::client(1)] {
            if found::credential(storage, &credential).await.is_none() {
                given::credential(storage, credential.clone()).await;
            }
            let named = (credential.kind, &credential.id);
            assert_refused(storage, &credential, named, &proof).await;
        }
    }
    for (number, keys) in [(2, samples::key_set(1)), (3, place)] {
        let client = given::credential(storage, samples::signing_client(number, keys)).await;
        for previous_until in [None, Some(samples::at(5_000))] {
            let proof = samples::new_secret(8, previous_until);
            assert_refused(storage, &client, (client.kind, &client.id), &proof).await;
        }
    }
}

/// `rotate` puts public keys in place of public keys, whether they are held or named.
pub async fn replaces_public_keys(storage: &Storage) {
    let place = |name| PublicKeys::At(format!("https://client.example/{name}"));
    let mut client =
        given::credential(storage, samples::signing_client(1, samples::key_set(1))).await;
    for keys in [
        samples::key_set(2),
        place("a"),
        place("b"),
        samples::key_set(3),
    ] {
        let answer = rotated(storage, &client, &NewProof::Keys(keys.clone())).await;
        client.proof = Proof::Keys(keys);
        assert_became(storage, answer, &client).await;
    }
}

fn secret(credential: &Credential) -> &StoredSecret {
    match &credential.proof {
        Proof::Secret(secret) => secret,
        Proof::Keys(keys) => panic!("not a secret: {keys:?}"),
    }
}

/// Rotations at the same time follow each other: each keeps the secret of the one before it.
pub async fn racing_rotations_follow_each_other(storage: &Storage) {
    let key = given::credential(storage, samples::key(1)).await;
    let mut racers = JoinSet::new();
    for number in 11..=18 {
        let (storage, key) = (storage.clone(), key.clone());
        racers.spawn(async move {
            let proof = samples::new_secret(number, Some(samples::at(5_000)));
            let answer = rotated(&storage, &key, &proof).await;
            answer.expect("the key is there")
        });
    }
    let answers = racers.join_all().await;
    let mut next = samples::digest(7);
    let mut left: Vec<_> = answers.iter().map(secret).collect();
    while !left.is_empty() {
        let follows = |after: &&StoredSecret| after.previous.is_some_and(|(it, _)| it == next);
        let place = left.iter().position(follows).expect("one follows");
        next = left.swap_remove(place).digest;
    }
    let present = found::credential(storage, &key).await.expect("stored");
    assert_eq!(secret(&present).digest, next);
    assert!(answers.contains(&present));
}
