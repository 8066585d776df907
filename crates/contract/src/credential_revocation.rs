//! `CredentialRepository`: credentials that are refused from now on.

use domain::Credential;
use ports::Storage;

use crate::{answers::Answer as _, found, given, pages, samples};

/// `revoke` refuses a credential from now on; it stays to be seen.
pub async fn revokes_a_credential_from_then_on(storage: &Storage) {
    for (credential, other) in [
        (samples::key(1), samples::key(2)),
        (samples::client(1), samples::client(2)),
        (
            samples::signing_client(3, samples::key_set(1)),
            samples::client(4),
        ),
    ] {
        let credential = given::credential(storage, credential).await;
        let other = given::credential(storage, other).await;
        given::revoked(storage, &credential, samples::at(9)).await;
        let revoked = Credential {
            revoked_at: Some(samples::at(9)),
            ..credential
        };
        let found = found::credential(storage, &revoked).await;
        assert_eq!(found.as_ref(), Some(&revoked));
        let listed = pages::credentials(storage, revoked.kind, 10).await;
        assert_eq!(listed[..2], [other, revoked]);
    }
}

/// `revoke` MUST raise the access version.
pub async fn revocation_raises_the_access_version(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let credential = given::credential(storage, credential).await;
        let before = found::access_version(storage).await;
        given::revoked(storage, &credential, samples::at(9)).await;
        assert!(found::access_version(storage).await > before);
    }
}

/// A credential revoked before stays as it was, and no node need drop anything again.
pub async fn a_second_revocation_changes_nothing(storage: &Storage) {
    for credential in [samples::key(1), samples::client(1)] {
        let credential = given::credential(storage, credential).await;
        given::revoked(storage, &credential, samples::at(9)).await;
        let before = found::access_version(storage).await;
        given::revoked(storage, &credential, samples::at(10)).await;
        let found = found::credential(storage, &credential).await;
        let revoked_at = found.and_then(|found| found.revoked_at);
        assert_eq!(revoked_at, Some(samples::at(9)));
        assert_eq!(found::access_version(storage).await, before);
    }
}

/// `revoke` answers whether there is such a credential: one of this id and kind.
pub async fn revokes_no_credential_that_is_not_there(storage: &Storage) {
    let key = given::credential(storage, samples::key(1)).await;
    let client = given::credential(storage, samples::client(1)).await;
    let before = found::access_version(storage).await;
    for (kind, id) in [
        (key.kind, samples::key_id(404)),
        (client.kind, samples::client_id(404)),
        (client.kind, key.id.clone()),
        (key.kind, client.id.clone()),
    ] {
        let answer = storage
            .credentials
            .revoke(kind, &key.tenant, &id, samples::at(9));
        assert!(!answer.await.answered(), "{id} as {kind:?}");
    }
    assert_eq!(found::credential(storage, &key).await, Some(key));
    assert_eq!(found::credential(storage, &client).await, Some(client));
    assert_eq!(found::access_version(storage).await, before);
}
