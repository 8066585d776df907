//! `CredentialRepository`: replacing the proof of a credential.

use domain::{
    Credential, CredentialId, CredentialKind, LimitOverrides, SecretDigest, Timestamp,
    credential::{Proof, PublicKeys, StoredSecret},
};
use ports::NewProof;
use tokio::task::JoinSet;

use crate::{Store, fixture, lookup, results::IdempotentExt as _, setup};

async fn rotated(storage: &Store, like: &Credential, proof: &NewProof) -> Option<Credential> {
    let Credential {
        kind, tenant, id, ..
    } = like;
    let credentials = &storage.credentials;
    let result = credentials.rotate(*kind, tenant, id, proof, None).await;
    result.applied()
}

/// Returns a credential as it is after its rotation to [`fixture::new_secret`].
fn with_secret(
    credential: &Credential,
    number: u8,
    previous: Option<(SecretDigest, Timestamp)>,
) -> Credential {
    Credential {
        proof: Proof::Secret(StoredSecret {
            digest: fixture::digest(number),
            last4: format!("r{number:03}"),
            previous,
        }),
        ..credential.clone()
    }
}

/// Asserts that the store returned and stored exactly this credential.
async fn assert_stored(storage: &Store, result: Option<Credential>, expected: &Credential) {
    assert_eq!(result.as_ref(), Some(expected), "as returned");
    let found = lookup::credential(storage, expected).await;
    assert_eq!(found.as_ref(), Some(expected), "as found");
}

/// Asserts that `rotate` returns `None` and does not change `credential`.
async fn assert_rejected(
    storage: &Store,
    credential: &Credential,
    (kind, id): (CredentialKind, &CredentialId),
    proof: &NewProof,
) {
    let present = lookup::credential(storage, credential).await;
    let version = lookup::access_version(storage).await;
    let (credentials, tenant) = (&storage.credentials, &credential.tenant);
    let result = credentials.rotate(kind, tenant, id, proof, None).await;
    assert_eq!(result.applied(), None, "{id} as {kind:?} to {proof:?}");
    assert_eq!(lookup::credential(storage, credential).await, present);
    assert_eq!(lookup::access_version(storage).await, version);
}

/// `rotate` sets a new secret, keeps the previous one until the given time, and returns the
/// credential as stored.
pub async fn a_rotation_keeps_the_previous_secret_until_the_given_time(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        let until = fixture::at(5_000);
        let result = rotated(storage, &credential, &fixture::new_secret(8, Some(until))).await;
        let expected = with_secret(&credential, 8, Some((fixture::digest(7), until)));
        assert_stored(storage, result, &expected).await;
    }
}

/// Without a time for the previous secret, only the new one is valid.
pub async fn a_rotation_without_overlap_discards_the_previous_secret(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        let result = rotated(storage, &credential, &fixture::new_secret(8, None)).await;
        assert_stored(storage, result, &with_secret(&credential, 8, None)).await;
    }
}

/// `rotate` MUST discard any secret older than the previous one, however long it was valid.
pub async fn a_second_rotation_discards_the_oldest_secret(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        let late = fixture::new_secret(8, Some(fixture::at(9_000_000)));
        assert!(rotated(storage, &credential, &late).await.is_some());
        let until = fixture::at(100);
        let result = rotated(storage, &credential, &fixture::new_secret(9, Some(until))).await;
        let expected = with_secret(&credential, 9, Some((fixture::digest(8), until)));
        assert_stored(storage, result, &expected).await;
        let result = rotated(storage, &credential, &fixture::new_secret(10, None)).await;
        assert_stored(storage, result, &with_secret(&credential, 10, None)).await;
    }
}

/// A rotation changes the proof of one credential, and nothing else.
pub async fn a_rotation_changes_only_the_proof(storage: &Store) {
    let credential = Credential {
        expires_at: Some(fixture::at(12)),
        last_used_at: Some(fixture::at(13)),
        allowed_origins: vec!["https://b.example".to_owned()],
        limits: LimitOverrides {
            chat_burst: Some(3),
            ..LimitOverrides::default()
        },
        ..fixture::key(1)
    };
    let credential = setup::credential(storage, credential).await;
    let others = [fixture::key(2), fixture::client(1)];
    for other in &others {
        setup::credential(storage, other.clone()).await;
    }
    let until = fixture::at(5_000);
    let result = rotated(storage, &credential, &fixture::new_secret(8, Some(until))).await;
    let expected = with_secret(&credential, 8, Some((fixture::digest(7), until)));
    assert_stored(storage, result, &expected).await;
    for other in others {
        assert_eq!(lookup::credential(storage, &other).await, Some(other));
    }
}

/// `rotate` MUST raise the access version, each time and for both kinds of proof.
pub async fn a_rotation_raises_the_access_version(storage: &Store) {
    let signing = fixture::signing_client(2, fixture::key_set(1));
    for (credential, proof) in [
        (fixture::key(1), fixture::new_secret(8, None)),
        (
            fixture::client(1),
            fixture::new_secret(8, Some(fixture::at(9))),
        ),
        (signing, NewProof::Keys(fixture::key_set(2))),
    ] {
        let credential = setup::credential(storage, credential).await;
        for _ in 0..2 {
            let before = lookup::access_version(storage).await;
            assert!(rotated(storage, &credential, &proof).await.is_some());
            assert!(lookup::access_version(storage).await > before);
        }
    }
}

/// `rotate` MUST change nothing and return `None` if the credential is revoked.
pub async fn a_revoked_credential_cannot_be_rotated(storage: &Store) {
    let signing = fixture::signing_client(2, fixture::key_set(1));
    for (credential, proof) in [
        (fixture::key(1), fixture::new_secret(8, None)),
        (fixture::client(1), fixture::new_secret(8, None)),
        (signing, NewProof::Keys(fixture::key_set(2))),
    ] {
        let credential = setup::credential(storage, credential).await;
        setup::revoke(storage, &credential, fixture::at(9)).await;
        let named = (credential.kind, &credential.id);
        assert_rejected(storage, &credential, named, &proof).await;
    }
}

/// `rotate` MUST change nothing and return `None` if no credential of this id and kind exists.
pub async fn an_unknown_credential_cannot_be_rotated(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let client = setup::credential(storage, fixture::client(1)).await;
    let proof = fixture::new_secret(8, Some(fixture::at(5_000)));
    let (no_key, no_client) = (fixture::key_id(404), fixture::client_id(404));
    assert_rejected(storage, &key, (key.kind, &no_key), &proof).await;
    assert_rejected(storage, &key, (client.kind, &key.id), &proof).await;
    assert_rejected(storage, &client, (client.kind, &no_client), &proof).await;
    assert_rejected(storage, &client, (key.kind, &client.id), &proof).await;
}

/// `rotate` MUST change nothing and return `None` if the new proof is of the other kind.
pub async fn a_rotation_cannot_change_the_kind_of_the_proof(storage: &Store) {
    let key_url = PublicKeys::At("https://client.example/jwks.json".to_owned());
    for keys in [fixture::key_set(2), key_url.clone()] {
        let proof = NewProof::Keys(keys);
        for credential in [fixture::key(1), fixture::client(1)] {
            if lookup::credential(storage, &credential).await.is_none() {
                setup::credential(storage, credential.clone()).await;
            }
            let named = (credential.kind, &credential.id);
            assert_rejected(storage, &credential, named, &proof).await;
        }
    }
    for (number, keys) in [(2, fixture::key_set(1)), (3, key_url)] {
        let client = setup::credential(storage, fixture::signing_client(number, keys)).await;
        for previous_until in [None, Some(fixture::at(5_000))] {
            let proof = fixture::new_secret(8, previous_until);
            assert_rejected(storage, &client, (client.kind, &client.id), &proof).await;
        }
    }
}

/// `rotate` replaces public keys with public keys, given as a set or as a URL.
pub async fn a_rotation_replaces_public_keys(storage: &Store) {
    let key_url = |name| PublicKeys::At(format!("https://client.example/{name}"));
    let mut client =
        setup::credential(storage, fixture::signing_client(1, fixture::key_set(1))).await;
    for keys in [
        fixture::key_set(2),
        key_url("a"),
        key_url("b"),
        fixture::key_set(3),
    ] {
        let result = rotated(storage, &client, &NewProof::Keys(keys.clone())).await;
        client.proof = Proof::Keys(keys);
        assert_stored(storage, result, &client).await;
    }
}

fn secret(credential: &Credential) -> &StoredSecret {
    match &credential.proof {
        Proof::Secret(secret) => secret,
        Proof::Keys(keys) => panic!("not a secret: {keys:?}"),
    }
}

/// Concurrent rotations are applied one after the other: each keeps the secret of the one before.
pub async fn concurrent_rotations_are_applied_one_after_the_other(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let mut racers = JoinSet::new();
    for number in 11..=18 {
        let (storage, key) = (storage.clone(), key.clone());
        racers.spawn(async move {
            let proof = fixture::new_secret(number, Some(fixture::at(5_000)));
            let result = rotated(&storage, &key, &proof).await;
            result.expect("the key exists")
        });
    }
    let results = racers.join_all().await;
    let mut next = fixture::digest(7);
    let mut remaining: Vec<_> = results.iter().map(secret).collect();
    while !remaining.is_empty() {
        let follows = |after: &&StoredSecret| after.previous.is_some_and(|(it, _)| it == next);
        let position = remaining.iter().position(follows).expect("one follows");
        next = remaining.swap_remove(position).digest;
    }
    let present = lookup::credential(storage, &key).await.expect("stored");
    assert_eq!(secret(&present).digest, next);
    assert!(results.contains(&present));
}
