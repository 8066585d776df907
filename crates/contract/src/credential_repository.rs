//! `CredentialRepository`: what is stored, found and listed.

use domain::{
    Credential, CredentialId, CredentialKind, LimitOverrides, Scopes, SecretDigest,
    credential::{Proof, PublicKeys, StoredSecret},
};
use ports::Storage;
use serde_json::json;

use crate::{
    answers::{Answer as _, assert_conflict},
    found, given, pages, samples,
};

/// A credential with every member set.
fn full(credential: Credential) -> Credential {
    Credential {
        name: "Clé 🔑".to_owned(),
        scopes: Scopes::all(),
        expires_at: Some(samples::at(12)),
        last_used_at: Some(samples::at(13)),
        revoked_at: Some(samples::at(14)),
        allowed_origins: vec![
            "https://b.example".to_owned(),
            "http://localhost:5173".to_owned(),
        ],
        limits: LimitOverrides {
            requests_per_minute: Some(u32::MAX),
            requests_burst: Some(0),
            chat_per_minute: Some(1),
            chat_burst: None,
            streams: Some(2),
        },
        ..credential
    }
}

fn full_secret() -> Proof {
    let digest = SecretDigest::new(std::array::from_fn(|index| index.to_le_bytes()[0]));
    Proof::Secret(StoredSecret {
        digest,
        last4: "Zz09".to_owned(),
        previous: Some((samples::digest(255), samples::at(11))),
    })
}

async fn assert_stored_as_given(storage: &Storage, credential: Credential) {
    let credential = given::credential(storage, credential).await;
    let found = found::credential(storage, &credential).await;
    assert_eq!(found.as_ref(), Some(&credential));
    let listed = pages::credentials(storage, credential.kind, 10).await;
    assert!(listed.contains(&credential), "listed as {listed:?}");
}

/// What `insert` took is what `find` and `list` give, with every member set and with none.
pub async fn stores_a_key_as_it_was_given(storage: &Storage) {
    let key = Credential {
        proof: full_secret(),
        ..full(samples::key(1))
    };
    assert_stored_as_given(storage, key).await;
    let bare = Credential {
        scopes: Scopes::NONE,
        ..samples::key(2)
    };
    assert_stored_as_given(storage, bare).await;
}

/// Clients too.
pub async fn stores_a_client_as_it_was_given(storage: &Storage) {
    let client = Credential {
        proof: full_secret(),
        ..full(samples::client(1))
    };
    assert_stored_as_given(storage, client).await;
    assert_stored_as_given(storage, samples::client(2)).await;
}

/// Clients that sign, by a set of keys and by the place of one.
pub async fn stores_public_keys_as_they_were_given(storage: &Storage) {
    let keys = json!({
        "keys": [
            {"kty": "EC", "crv": "P-256", "kid": "Schlüssel 🔑", "x": "f83O-J_", "y": "x_FEzRu9"},
            {"kty": "RSA", "n": "0vx7agoebGcQ", "e": "AQAB", "key_ops": ["verify"], "none": null},
        ],
        "half": 0.5,
    });
    let all = [
        PublicKeys::Set(keys),
        PublicKeys::Set(json!({"keys": []})),
        PublicKeys::At("https://client.example/jwks.json?a=1&b=ü".to_owned()),
    ];
    for (number, keys) in (1..).zip(all) {
        assert_stored_as_given(storage, full(samples::signing_client(number, keys))).await;
    }
}

/// `insert` MUST answer `Conflict` when the id exists, in whatever tenant.
pub async fn refuses_a_duplicate_credential_id(storage: &Storage) {
    let tenant = given::another_tenant(storage).await;
    for credential in [samples::key(1), samples::client(1)] {
        let first = given::credential(storage, credential).await;
        let impostor = Credential {
            tenant: tenant.clone(),
            ..first.clone()
        };
        for second in [&first, &impostor] {
            assert_conflict(&storage.credentials.insert(second, None).await);
        }
        assert_eq!(found::credential(storage, &first).await, Some(first));
    }
}

/// An id is unique among both kinds.
pub async fn a_client_has_no_keys_id_and_no_key_a_clients(storage: &Storage) {
    let key = given::credential(storage, samples::key(1)).await;
    let client = given::credential(storage, samples::client(1)).await;
    let posing_as_key = Credential {
        id: client.id.clone(),
        ..samples::key(2)
    };
    let posing_as_client = Credential {
        id: key.id.clone(),
        ..samples::client(2)
    };
    for second in [&posing_as_key, &posing_as_client] {
        assert_conflict(&storage.credentials.insert(second, None).await);
        assert_eq!(found::credential(storage, second).await, None);
    }
    assert_eq!(found::credential(storage, &key).await, Some(key));
    assert_eq!(found::credential(storage, &client).await, Some(client));
}

/// "Not found" is a value.
pub async fn finds_no_credential_that_was_never_made(storage: &Storage) {
    for credential in [samples::key(404), samples::client(404)] {
        assert_eq!(found::credential(storage, &credential).await, None);
    }
}

/// `find` finds credentials of the kind that is asked for alone.
pub async fn keys_and_clients_are_found_apart(storage: &Storage) {
    let key = given::credential(storage, samples::key(1)).await;
    let client = given::credential(storage, samples::client(1)).await;
    let (credentials, kinds) = (
        &storage.credentials,
        [CredentialKind::Client, CredentialKind::Key],
    );
    for (other_kind, id) in kinds.into_iter().zip([&key.id, &client.id]) {
        let found = credentials.find(other_kind, id).await;
        assert_eq!(found.answered(), None, "{id} as {other_kind:?}");
    }
    assert_eq!(found::credential(storage, &key).await, Some(key));
    assert_eq!(found::credential(storage, &client).await, Some(client));
}

/// `list` is newest first, in the order in which they were made, whatever their times say; in
/// pages, and one kind alone.
pub async fn lists_credentials_of_a_kind_newest_first(storage: &Storage) {
    for number in [2, 5, 1, 4, 3] {
        given::credential(storage, samples::key(number)).await;
        given::credential(storage, samples::client(number)).await;
    }
    for limit in [1, 2, 5] {
        let keys = pages::credentials(storage, CredentialKind::Key, limit).await;
        assert_eq!(keys, [3, 4, 1, 5, 2].map(samples::key));
        let clients = pages::credentials(storage, CredentialKind::Client, limit).await;
        assert_eq!(clients, [3, 4, 1, 5, 2].map(samples::client));
    }
}

/// `touch` notes the use of several credentials at once, of both kinds.
pub async fn notes_when_credentials_were_used(storage: &Storage) {
    let credentials = [
        samples::key(1),
        samples::key(2),
        samples::client(1),
        samples::client(2),
    ];
    for credential in &credentials {
        given::credential(storage, credential.clone()).await;
    }
    let used = [
        (credentials[0].id.clone(), samples::at(60_000)),
        (credentials[2].id.clone(), samples::at(120_000)),
    ];
    storage.credentials.touch(&used).await.answered();
    let times = [60_000, 0, 120_000, 0].map(|time| (time > 0).then(|| samples::at(time)));
    for (credential, last_used_at) in credentials.into_iter().zip(times) {
        let expected = Credential {
            last_used_at,
            ..credential
        };
        let found = found::credential(storage, &expected).await;
        assert_eq!(found, Some(expected));
    }
}

async fn used(storage: &Storage, id: &CredentialId, times: &[i64]) {
    let used: Vec<_> = times
        .iter()
        .map(|time| (id.clone(), samples::at(*time)))
        .collect();
    storage.credentials.touch(&used).await.answered();
}

/// `touch` MUST NOT move a credential's time backwards, also within one call.
pub async fn use_never_moves_a_credential_backwards(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let credential = given::credential(storage, credential).await;
        for (times, latest) in [
            (&[200][..], 200),
            (&[100], 200),
            (&[300, 400], 400),
            (&[600, 500], 600),
        ] {
            used(storage, &credential.id, times).await;
            let found = found::credential(storage, &credential).await;
            let last_used_at = found.and_then(|found| found.last_used_at);
            assert_eq!(last_used_at, Some(samples::at(latest)), "after {times:?}");
        }
    }
}

/// Neither an unknown credential nor none at all is an error.
pub async fn notes_the_use_of_unknown_credentials_as_nothing(storage: &Storage) {
    used(storage, &samples::key_id(404), &[1]).await;
    storage.credentials.touch(&[]).await.answered();
    for kind in [CredentialKind::Key, CredentialKind::Client] {
        assert!(pages::credentials(storage, kind, 10).await.is_empty());
    }
}
