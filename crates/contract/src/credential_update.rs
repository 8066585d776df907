//! Changes of the content of credentials.

use domain::{
    AgentReach, Credential, LimitOverrides,
    credential::{Proof, StoredSecret},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    Store, fixture,
    group_values::{ROWS, at_once},
    lookup,
    results::ResultExt as _,
    setup,
};

async fn update(storage: &Store, like: &Credential, patch: Value) -> Credential {
    let Credential {
        kind, tenant, id, ..
    } = like;
    let result = storage.credentials.update(*kind, tenant, id, patch).await;
    result.success().expect("the credential exists")
}

/// Asserts that an update returns and stores this credential.
async fn assert_updated(storage: &Store, patch: Value, expected: &Credential) {
    let updated = update(storage, expected, patch.clone()).await;
    assert_eq!(updated, *expected, "{patch}");
    let found = lookup::credential(storage, expected).await;
    assert_eq!(found.as_ref(), Some(expected), "{patch}");
}

/// Every member of the content can be set, and restored to its default.
pub async fn an_update_replaces_the_content_of_a_credential(storage: &Store) {
    let agent = fixture::agent_id(1);
    let filled = json!({
        "name": "Zoë 🦊", "agentIds": [agent], "expiresAt": fixture::at(77),
        "allowedOrigins": ["https://b.example", "https://a.example"],
        "limits": {"chatBurst": 3, "streams": 0},
    });
    let emptied = json!({
        "agentIds": null, "expiresAt": null, "allowedOrigins": null, "limits": {"chatBurst": null},
    });
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        let origins = ["https://b.example", "https://a.example"].map(str::to_owned);
        let limits = |chat_burst| LimitOverrides {
            chat_burst,
            streams: Some(0),
            ..LimitOverrides::default()
        };
        let expected = Credential {
            name: "Zoë 🦊".to_owned(),
            agents: AgentReach::only([agent]),
            expires_at: Some(fixture::at(77)),
            allowed_origins: origins.to_vec(),
            limits: limits(Some(3)),
            ..credential.clone()
        };
        assert_updated(storage, filled.clone(), &expected).await;
        let expected = Credential {
            name: expected.name,
            limits: limits(None),
            ..credential
        };
        assert_updated(storage, emptied.clone(), &expected).await;
    }
}

/// An update changes nothing but the content of one credential.
pub async fn an_update_keeps_the_proof_the_scopes_and_the_times(storage: &Store) {
    let rotated = Credential {
        last_used_at: Some(fixture::at(13)),
        proof: Proof::Secret(StoredSecret {
            digest: fixture::digest(8),
            last4: "last".to_owned(),
            previous: Some((fixture::digest(7), fixture::at(5_000))),
        }),
        ..fixture::key(1)
    };
    let signing = fixture::signing_client(2, fixture::key_set(1));
    let other = setup::credential(storage, fixture::key(3)).await;
    for credential in [rotated, signing] {
        let credential = setup::credential(storage, credential).await;
        let expected = Credential {
            name: "new".to_owned(),
            ..credential
        };
        assert_updated(storage, json!({"name": "new"}), &expected).await;
    }
    assert_eq!(lookup::credential(storage, &other).await, Some(other));
}

/// An update MUST raise the access version, unless it has no effect.
pub async fn an_update_raises_the_access_version_unless_it_has_no_effect(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        let before = lookup::access_version(storage).await;
        for patch in [json!({}), json!({"name": credential.name, "limits": null})] {
            assert_updated(storage, patch, &credential).await;
        }
        assert_eq!(lookup::access_version(storage).await, before);
        update(storage, &credential, json!({"name": "new"})).await;
        assert!(lookup::access_version(storage).await > before);
    }
}

/// An update returns `None` and changes nothing if the tenant has no such credential, or it is revoked.
pub async fn a_revoked_or_unknown_credential_cannot_be_updated(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let client = setup::credential(storage, fixture::client(1)).await;
    let revoked = setup::credential(storage, fixture::key(2)).await;
    setup::revoke(storage, &revoked, fixture::at(9)).await;
    let before = lookup::access_version(storage).await;
    for (kind, id) in [
        (key.kind, fixture::key_id(404)),
        (client.kind, key.id.clone()),
        (key.kind, client.id.clone()),
        (revoked.kind, revoked.id.clone()),
    ] {
        let patch = json!({"name": "new"});
        let result = storage.credentials.update(kind, &key.tenant, &id, patch);
        assert_eq!(result.await.success(), None, "{id} as {kind:?}");
    }
    for credential in [key, client] {
        let found = lookup::credential(storage, &credential).await;
        assert_eq!(found, Some(credential));
    }
    assert_eq!(lookup::access_version(storage).await, before);
}

/// Updates of different members at the same time do not undo each other.
pub async fn concurrent_updates_of_a_credential_keep_all_changes(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let mut racers = JoinSet::new();
    for patch in [
        json!({"name": "new"}),
        json!({"expiresAt": fixture::at(77)}),
        json!({"allowedOrigins": ["https://a.example"]}),
        json!({"limits": {"chatBurst": 3}}),
        json!({"limits": {"chatPerMinute": 4}}),
        json!({"limits": {"requestsBurst": 5}}),
    ] {
        let (storage, key) = (storage.clone(), key.clone());
        racers.spawn(async move { update(&storage, &key, patch).await });
    }
    let results = racers.join_all().await;
    let expected = Credential {
        name: "new".to_owned(),
        expires_at: Some(fixture::at(77)),
        allowed_origins: vec!["https://a.example".to_owned()],
        limits: LimitOverrides {
            chat_burst: Some(3),
            chat_per_minute: Some(4),
            requests_burst: Some(5),
            ..LimitOverrides::default()
        },
        ..key
    };
    assert!(results.contains(&expected), "the last one");
    assert_eq!(lookup::credential(storage, &expected).await, Some(expected));
}

/// Credentials that are updated and revoked at the same time have their own values afterwards.
pub async fn concurrent_updates_of_many_credentials_keep_their_own_values(storage: &Store) {
    for number in 1..=ROWS {
        setup::credential(storage, fixture::key(number)).await;
    }
    let is_revoked = |number: u32| number.is_multiple_of(3);
    at_once(storage, move |storage, number| async move {
        let key = fixture::key(number);
        if is_revoked(number) {
            setup::revoke(&storage, &key, fixture::at(9)).await;
        } else {
            let patch = json!({"name": format!("new {number}"), "limits": {"streams": number}});
            update(&storage, &key, patch).await;
        }
    })
    .await;
    for number in 1..=ROWS {
        let key = fixture::key(number);
        let expected = if is_revoked(number) {
            Credential {
                revoked_at: Some(fixture::at(9)),
                ..key
            }
        } else {
            Credential {
                name: format!("new {number}"),
                limits: LimitOverrides {
                    streams: Some(number),
                    ..LimitOverrides::default()
                },
                ..key
            }
        };
        assert_eq!(lookup::credential(storage, &expected).await, Some(expected));
    }
}
