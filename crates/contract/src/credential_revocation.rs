//! `CredentialRepository`: revoking credentials.

use std::time::{Duration, Instant};

use domain::Credential;
use serde_json::json;

use crate::{
    Store, fixture, lookup, pages,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// The number of races.
const RACES: u32 = 40;
/// The maximum duration of a call in a race. Postgres looks for deadlocks after one second.
const RACE_LIMIT: Duration = Duration::from_millis(900);

/// `revoke` sets the time of the revocation; the credential can still be read.
pub async fn a_revoked_credential_has_the_time_of_its_revocation(storage: &Store) {
    for (credential, other) in [
        (fixture::key(1), fixture::key(2)),
        (fixture::client(1), fixture::client(2)),
        (
            fixture::signing_client(3, fixture::key_set(1)),
            fixture::client(4),
        ),
    ] {
        let credential = setup::credential(storage, credential).await;
        let other = setup::credential(storage, other).await;
        setup::revoke(storage, &credential, fixture::at(9)).await;
        let revoked = Credential {
            revoked_at: Some(fixture::at(9)),
            ..credential
        };
        let found = lookup::credential(storage, &revoked).await;
        assert_eq!(found.as_ref(), Some(&revoked));
        let listed = pages::credentials(storage, revoked.kind, 10).await;
        assert_eq!(listed[..2], [other, revoked]);
    }
}

/// `revoke` MUST raise the access version.
pub async fn a_revocation_raises_the_access_version(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        let before = lookup::access_version(storage).await;
        setup::revoke(storage, &credential, fixture::at(9)).await;
        assert!(lookup::access_version(storage).await > before);
    }
}

/// A second revocation changes nothing and does not raise the access version.
pub async fn a_second_revocation_changes_nothing(storage: &Store) {
    for credential in [fixture::key(1), fixture::client(1)] {
        let credential = setup::credential(storage, credential).await;
        setup::revoke(storage, &credential, fixture::at(9)).await;
        let before = lookup::access_version(storage).await;
        setup::revoke(storage, &credential, fixture::at(10)).await;
        let found = lookup::credential(storage, &credential).await;
        let revoked_at = found.and_then(|found| found.revoked_at);
        assert_eq!(revoked_at, Some(fixture::at(9)));
        assert_eq!(lookup::access_version(storage).await, before);
    }
}

/// `revoke` returns `false` if no credential of this id and kind exists in the tenant.
pub async fn an_unknown_credential_cannot_be_revoked(storage: &Store) {
    let key = setup::credential(storage, fixture::key(1)).await;
    let client = setup::credential(storage, fixture::client(1)).await;
    let before = lookup::access_version(storage).await;
    for (kind, id) in [
        (key.kind, fixture::key_id(404)),
        (client.kind, fixture::client_id(404)),
        (client.kind, key.id.clone()),
        (key.kind, client.id.clone()),
    ] {
        let result = storage
            .credentials
            .revoke(kind, &key.tenant, &id, fixture::at(9));
        assert!(!result.await.success(), "{id} as {kind:?}");
    }
    assert_eq!(lookup::credential(storage, &key).await, Some(key));
    assert_eq!(lookup::credential(storage, &client).await, Some(client));
    assert_eq!(lookup::access_version(storage).await, before);
}

/// Revocations, rotations, updates and recorded uses of the same credentials at the same time all succeed, and
/// none waits for a deadlock to be resolved.
pub async fn concurrent_changes_of_credentials_do_not_block_each_other(storage: &Store) {
    let another = setup::second_tenant(storage).await;
    for race in 0..RACES {
        let mut tenants = [fixture::tenant(), another.clone()];
        tenants.rotate_left((race % 2) as usize);
        let [first, second] = [(1, &tenants[0]), (2, &tenants[1])].map(|(number, tenant)| {
            let key = fixture::key(2 * race + number);
            Credential {
                tenant: tenant.clone(),
                ..key
            }
        });
        setup::credential(storage, first.clone()).await;
        setup::credential(storage, second.clone()).await;
        tokio::join!(
            revoke_in_time(storage, &first),
            update_in_time(storage, &second),
            rotate_in_time(storage, &first),
            touch_in_time(storage, [&first, &second]),
            rotate_in_time(storage, &second),
            update_in_time(storage, &first),
            revoke_in_time(storage, &second),
        );
        for key in [first, second] {
            let found = lookup::credential(storage, &key).await;
            assert_eq!(found.and_then(|it| it.revoked_at), Some(fixture::at(9)));
        }
    }
}

async fn revoke_in_time(storage: &Store, credential: &Credential) {
    let started_at = Instant::now();
    setup::revoke(storage, credential, fixture::at(9)).await;
    assert!(started_at.elapsed() < RACE_LIMIT, "a revocation waited");
}

/// Rotates a credential, unless it was revoked first.
async fn rotate_in_time(storage: &Store, like: &Credential) {
    let Credential {
        kind, tenant, id, ..
    } = like;
    let started_at = Instant::now();
    let proof = fixture::new_secret(8, None);
    let credentials = &storage.credentials;
    let result = credentials.rotate(*kind, tenant, id, &proof, None).await;
    if let Some(rotated) = result.applied() {
        assert_eq!(rotated.revoked_at, None);
    }
    assert!(started_at.elapsed() < RACE_LIMIT, "a rotation waited");
}

/// Renames a credential, unless it was revoked first.
async fn update_in_time(storage: &Store, like: &Credential) {
    let started_at = Instant::now();
    let (credentials, patch) = (&storage.credentials, json!({"name": "new"}));
    let result = credentials.update(like.kind, &like.tenant, &like.id, patch);
    if let Some(updated) = result.await.success() {
        assert_eq!(updated.revoked_at, None);
    }
    assert!(started_at.elapsed() < RACE_LIMIT, "an update waited");
}

async fn touch_in_time(storage: &Store, used: [&Credential; 2]) {
    let started_at = Instant::now();
    let used = used.map(|credential| (credential.id.clone(), fixture::at(8)));
    storage.credentials.touch(&used).await.success();
    assert!(started_at.elapsed() < RACE_LIMIT, "a use waited");
}
