//! Rotation and revocation of secrets.

use std::time::Duration;

use access::{CredentialError, IssuedCredential, PresentedCredential, Rotation, operator};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{
    CredentialDraft, CredentialKind, CredentialSecret, FaultCode, Scope,
    credential::{Proof, PublicKeys},
};
use serde_json::{Value, json};

use crate::{
    credential_fixture::{CredentialFixture, draft, tenant},
    fixture::START,
};

fn secret(issued: &IssuedCredential) -> CredentialSecret {
    issued.secret.clone().expect("a secret")
}

/// A key that both processes have cached.
async fn cached_key(fixture: &CredentialFixture) -> IssuedCredential {
    let key = fixture.key(&[Scope::AgentsRead]).await;
    assert!(fixture.is_accepted_locally(&secret(&key)).await);
    assert!(fixture.is_accepted_remotely(&secret(&key)).await);
    key
}

#[tokio::test]
async fn the_previous_secret_is_valid_exactly_until_the_overlap_ends() {
    let fixture = CredentialFixture::new().await;
    let key = cached_key(&fixture).await;
    let new = fixture.rotate(&key, Some(60)).await.unwrap();
    for _ in 0..2 {
        assert!(fixture.is_accepted_locally(&secret(&key)).await);
        assert!(fixture.is_accepted_locally(&new).await);
    }
    fixture.base.clock.forward(Duration::from_millis(59_999));
    fixture.local.refresh().await.unwrap();
    assert!(
        fixture.is_accepted_locally(&secret(&key)).await,
        "and is cached"
    );
    fixture.base.clock.forward(Duration::from_millis(1));
    assert!(!fixture.is_accepted_locally(&secret(&key)).await);
    assert!(fixture.is_accepted_locally(&new).await);
}

#[tokio::test]
async fn a_rotation_without_an_overlap_ends_the_previous_secret_at_once() {
    let fixture = CredentialFixture::new().await;
    for overlap in [None, Some(0)] {
        let key = cached_key(&fixture).await;
        let new = fixture.rotate(&key, overlap).await.unwrap();
        assert!(
            !fixture.is_accepted_locally(&secret(&key)).await,
            "in this process"
        );
        assert!(fixture.is_accepted_locally(&new).await);
        assert!(fixture.is_accepted_remotely(&new).await);
        fixture.remote.refresh().await.unwrap();
        assert!(!fixture.is_accepted_remotely(&secret(&key)).await);
    }
}

#[tokio::test]
async fn a_key_has_at_most_two_valid_secrets() {
    let fixture = CredentialFixture::new().await;
    let key = cached_key(&fixture).await;
    let second = fixture.rotate(&key, Some(604_800)).await.unwrap();
    let third = fixture.rotate(&key, Some(604_800)).await.unwrap();
    assert!(!fixture.is_accepted_locally(&secret(&key)).await);
    assert!(fixture.is_accepted_locally(&second).await);
    assert!(fixture.is_accepted_locally(&third).await);
}

#[tokio::test]
async fn an_overlap_lasts_at_most_a_week() {
    let fixture = CredentialFixture::new().await;
    let key = cached_key(&fixture).await;
    let Err(CredentialError::Invalid(faults)) = fixture.rotate(&key, Some(604_801)).await else {
        panic!("more than a week");
    };
    assert_eq!(faults[0].pointer, "/overlapSeconds");
    assert_eq!(faults[0].code, FaultCode::TooLarge);
    assert!(
        fixture.is_accepted_locally(&secret(&key)).await,
        "nothing has changed"
    );
}

#[tokio::test]
async fn a_revoked_key_is_rejected_here_at_once_and_elsewhere_after_the_next_poll() {
    let fixture = CredentialFixture::new().await;
    let key = cached_key(&fixture).await;
    let overlapping = fixture.rotate(&key, Some(60)).await.unwrap();
    let (kind, id) = (CredentialKind::Key, key.credential.id.clone());
    let operator = operator(tenant());
    fixture.service.revoke(&operator, kind, &id).await.unwrap();
    assert!(!fixture.is_accepted_locally(&secret(&key)).await);
    assert!(!fixture.is_accepted_locally(&overlapping).await);
    fixture.remote.refresh().await.unwrap();
    assert!(!fixture.is_accepted_remotely(&secret(&key)).await);

    fixture.base.clock.forward(Duration::from_secs(1));
    fixture.service.revoke(&operator, kind, &id).await.unwrap();
    let stored = fixture.service.get(&operator, kind, &id).await.unwrap();
    assert_eq!(stored.revoked_at, Some(START), "as it was");
}

#[tokio::test]
async fn an_expired_credential_is_not_rotated() {
    let fixture = CredentialFixture::new().await;
    let revoked = cached_key(&fixture).await;
    let (kind, id) = (CredentialKind::Key, &revoked.credential.id);
    let revocation = fixture.service.revoke(&operator(tenant()), kind, id).await;
    revocation.unwrap();
    let ending = CredentialDraft {
        expires_at: Some(START + Duration::from_mins(1)),
        ..draft(&[Scope::AgentsRead])
    };
    let expired = fixture.create(kind, ending).await;
    assert!(fixture.rotate(&expired, None).await.is_ok());
    fixture.base.clock.forward(Duration::from_mins(1));
    for ended in [revoked, expired] {
        let rejected = fixture.rotate(&ended, None).await;
        assert!(matches!(
            rejected,
            Err(CredentialError::RevokedOrExpired(_))
        ));
    }
}

#[tokio::test]
async fn each_authentication_is_recorded_as_the_last_use_of_the_key() {
    let fixture = CredentialFixture::new().await;
    let key = cached_key(&fixture).await;
    let operator = operator(tenant());
    let last_used = async || {
        let (kind, id) = (CredentialKind::Key, &key.credential.id);
        let stored = fixture.service.get(&operator, kind, id).await.unwrap();
        stored.last_used_at
    };
    assert_eq!(last_used().await, None, "not on the way of a request");
    fixture.last_used.flush().await.unwrap();
    assert_eq!(last_used().await, Some(START));
    fixture.base.clock.forward(Duration::from_secs(3));
    let secret = secret(&key);
    let credential = PresentedCredential::new(secret.reveal());
    assert!(fixture.local.authenticate_cached(&credential).is_some());
    fixture.last_used.flush().await.unwrap();
    let later = START + Duration::from_secs(3);
    assert_eq!(last_used().await, Some(later), "from memory too");
}

/// A set of one key, which differs for each number.
fn key_set(number: u8) -> Value {
    let x = URL_SAFE_NO_PAD.encode([number; 32]);
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]})
}

/// Creates a client from this draft, rotates it and returns the new proof.
async fn rotated(
    draft: CredentialDraft,
    rotation: Rotation,
) -> Result<Proof, Vec<(String, FaultCode)>> {
    let fixture = CredentialFixture::new().await;
    let client = fixture.create(CredentialKind::Client, draft).await;
    let (kind, id) = (CredentialKind::Client, &client.credential.id);
    let operator = operator(tenant());
    match fixture
        .service
        .rotate(&operator, kind, id, rotation, None)
        .await
    {
        Ok(issued) => {
            assert!(issued.value.secret.is_none());
            Ok(issued.value.credential.proof)
        }
        Err(CredentialError::Invalid(faults)) => {
            let faults = faults.into_iter().map(|it| (it.pointer, it.code));
            Err(faults.collect())
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_rotation_replaces_the_public_keys_of_a_client() {
    let signing = CredentialDraft {
        jwks: Some(key_set(1)),
        ..draft(&[Scope::AgentsRead])
    };
    let rotation = |overlap_seconds, jwks| Rotation {
        overlap_seconds,
        jwks,
    };
    let fault = |pointer: &str, code| (pointer.to_owned(), code);
    assert_eq!(
        rotated(signing.clone(), rotation(None, Some(key_set(2)))).await,
        Ok(Proof::Keys(PublicKeys::Set(key_set(2))))
    );
    assert_eq!(
        rotated(signing.clone(), rotation(None, None)).await,
        Err(vec![fault("/jwks", FaultCode::Required)])
    );
    assert_eq!(
        rotated(
            signing.clone(),
            rotation(Some(0), Some(json!({"keys": []})))
        )
        .await,
        Err(vec![
            fault("/jwks/keys", FaultCode::TooShort),
            fault("/overlapSeconds", FaultCode::NotCombinable),
        ])
    );
    assert_eq!(
        rotated(
            draft(&[Scope::AgentsRead]),
            rotation(None, Some(key_set(2)))
        )
        .await,
        Err(vec![fault("/jwks", FaultCode::NotCombinable)])
    );
    let published = CredentialDraft {
        jwks_uri: Some("https://client.example/jwks.json".to_owned()),
        ..draft(&[Scope::AgentsRead])
    };
    for rotation in [rotation(None, None), rotation(None, Some(key_set(2)))] {
        let rejected = rotated(published.clone(), rotation).await;
        assert_eq!(rejected, Err(vec![fault("", FaultCode::NotCombinable)]));
    }
}
