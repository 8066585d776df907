//! `CredentialRepository`: storing, finding and listing credentials.

use domain::{
    AgentReach, Credential, CredentialId, CredentialKind, LimitOverrides, Scopes, SecretDigest,
    credential::{Proof, PublicKeys, StoredSecret},
};

use serde_json::json;

use crate::{
    Store, fixture, lookup, pages,
    results::{ResultExt as _, assert_conflict},
    setup,
};

/// Sets every member of a credential.
fn full(credential: Credential) -> Credential {
    Credential {
        name: "Clé 🔑".to_owned(),
        scopes: Scopes::read(vec!["agents:read".to_owned(), "of:newer".to_owned()]),
        agents: AgentReach::only([1, 2].map(fixture::agent_id)),
        expires_at: Some(fixture::at(12)),
        last_used_at: Some(fixture::at(13)),
        revoked_at: Some(fixture::at(14)),
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
            files_per_day: Some(3),
            file_bytes_per_day: Some(u64::from(u32::MAX) + 1),
            unknown: fixture::unknown_members(),
        },
        ..credential
    }
}

fn full_secret() -> Proof {
    let digest = SecretDigest::new(std::array::from_fn(|index| index.to_le_bytes()[0]));
    Proof::Secret(StoredSecret {
        digest,
        last4: "Zz09".to_owned(),
        previous: Some((fixture::digest(255), fixture::at(11))),
    })
}

async fn assert_stored_unchanged(storage: &Store, credential: Credential) {
    let credential = setup::credential(storage, credential).await;
    let found = lookup::credential(storage, &credential).await;
    assert_eq!(found.as_ref(), Some(&credential));
    let listed = pages::credentials(storage, credential.kind, 10).await;
    assert!(listed.contains(&credential), "listed as {listed:?}");
}

/// `find` and `list` return what `insert` stored, with every member set and with none.
pub async fn a_key_is_stored_unchanged(storage: &Store) {
    let key = Credential {
        proof: full_secret(),
        ..full(fixture::key(1))
    };
    assert_stored_unchanged(storage, key).await;
    let bare = Credential {
        scopes: Scopes::NONE,
        ..fixture::key(2)
    };
    assert_stored_unchanged(storage, bare).await;
}

/// The same for clients.
pub async fn a_client_is_stored_unchanged(storage: &Store) {
    let client = Credential {
        proof: full_secret(),
        ..full(fixture::client(1))
    };
    assert_stored_unchanged(storage, client).await;
    assert_stored_unchanged(storage, fixture::client(2)).await;
}

/// The same for clients with public keys, given as a set or as a URL.
pub async fn public_keys_are_stored_unchanged(storage: &Store) {
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
        assert_stored_unchanged(storage, full(fixture::signing_client(number, keys))).await;
    }
}

/// `insert` MUST return `Conflict` if the id exists, in any tenant.
pub async fn a_duplicate_credential_id_is_a_conflict(storage: &Store) {
    let tenant = setup::second_tenant(storage).await;
    for credential in [fixture::key(1), fixture::client(1)] {
        let first = setup::credential(storage, credential).await;
        let impostor = Credential {
            tenant: tenant.clone(),
            ..first.clone()
        };
        for second in [&first, &impostor] {
            assert_conflict(&storage.credentials.insert(second, None).await);
        }
        assert_eq!(lookup::credential(storage, &first).await, Some(first));
    }
}

/// An id is unique across keys and clients.
pub async fn credential_ids_are_unique_across_keys_and_clients(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let client = setup::credential(storage, fixture::client(1)).await;
    let posing_as_key = Credential {
        id: client.id.clone(),
        ..fixture::key(2)
    };
    let posing_as_client = Credential {
        id: key.id.clone(),
        ..fixture::client(2)
    };
    for second in [&posing_as_key, &posing_as_client] {
        assert_conflict(&storage.credentials.insert(second, None).await);
        assert_eq!(lookup::credential(storage, second).await, None);
    }
    assert_eq!(lookup::credential(storage, &key).await, Some(key));
    assert_eq!(lookup::credential(storage, &client).await, Some(client));
}

/// "Not found" is a value.
pub async fn an_unknown_credential_is_not_found(storage: &Store) {
    for credential in [fixture::key(404), fixture::client(404)] {
        assert_eq!(lookup::credential(storage, &credential).await, None);
    }
}

/// `find` returns only credentials of the requested kind.
pub async fn find_returns_only_credentials_of_the_requested_kind(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let client = setup::credential(storage, fixture::client(1)).await;
    let (credentials, kinds) = (
        &storage.credentials,
        [CredentialKind::Client, CredentialKind::Key],
    );
    for (other_kind, id) in kinds.into_iter().zip([&key.id, &client.id]) {
        let found = credentials.find(other_kind, id).await;
        assert_eq!(found.success(), None, "{id} as {other_kind:?}");
    }
    assert_eq!(lookup::credential(storage, &key).await, Some(key));
    assert_eq!(lookup::credential(storage, &client).await, Some(client));
}

/// `list` returns credentials of one kind, newest first, in the commit order of their creations,
/// whatever their times are.
pub async fn credentials_of_a_kind_are_listed_newest_first(storage: &Store) {
    for number in [2, 5, 1, 4, 3] {
        setup::credential(storage, fixture::key(number)).await;
        setup::credential(storage, fixture::client(number)).await;
    }
    for limit in [1, 2, 5] {
        let keys = pages::credentials(storage, CredentialKind::Key, limit).await;
        assert_eq!(keys, [3, 4, 1, 5, 2].map(fixture::key));
        let clients = pages::credentials(storage, CredentialKind::Client, limit).await;
        assert_eq!(clients, [3, 4, 1, 5, 2].map(fixture::client));
    }
}

/// `touch` records the use of several credentials of both kinds at once.
pub async fn touch_records_the_last_use_of_credentials(storage: &Store) {
    let credentials = [
        fixture::key(1),
        fixture::key(2),
        fixture::client(1),
        fixture::client(2),
    ];
    for credential in &credentials {
        setup::credential(storage, credential.clone()).await;
    }
    let used = [
        (credentials[0].id.clone(), fixture::at(60_000)),
        (credentials[2].id.clone(), fixture::at(120_000)),
    ];
    storage.credentials.touch(&used).await.success();
    let times = [60_000, 0, 120_000, 0].map(|time| (time > 0).then(|| fixture::at(time)));
    for (credential, last_used_at) in credentials.into_iter().zip(times) {
        let expected = Credential {
            last_used_at,
            ..credential
        };
        let found = lookup::credential(storage, &expected).await;
        assert_eq!(found, Some(expected));
    }
}

async fn used(storage: &Store, id: &CredentialId, times: &[i64]) {
    let used: Vec<_> = times
        .iter()
        .map(|time| (id.clone(), fixture::at(*time)))
        .collect();
    storage.credentials.touch(&used).await.success();
}

/// `touch` MUST NOT move a credential's time backwards, also within one call.
pub async fn touch_moves_no_time_backwards(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        for (times, latest) in [
            (&[200][..], 200),
            (&[100], 200),
            (&[300, 400], 400),
            (&[600, 500], 600),
        ] {
            used(storage, &credential.id, times).await;
            let found = lookup::credential(storage, &credential).await;
            let last_used_at = found.and_then(|found| found.last_used_at);
            assert_eq!(last_used_at, Some(fixture::at(latest)), "after {times:?}");
        }
    }
}

/// An unknown credential or an empty list is no error.
pub async fn touch_ignores_unknown_credentials(storage: &Store) {
    used(storage, &fixture::key_id(404), &[1]).await;
    storage.credentials.touch(&[]).await.success();
    for kind in [CredentialKind::Key, CredentialKind::Client] {
        assert!(pages::credentials(storage, kind, 10).await.is_empty());
    }
}
