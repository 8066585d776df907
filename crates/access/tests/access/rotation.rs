//! Rotation and revocation of secrets.

use std::time::Duration;

use access::{CredentialError, MintedCredential, PresentedCredential, Rotation, operator};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use domain::{
    CredentialDraft, CredentialKind, CredentialSecret, FaultCode, Scope,
    credential::{Proof, PublicKeys},
};
use serde_json::{Value, json};

use crate::{
    desk::{Desk, draft, tenant},
    world::BEGINNING,
};

fn secret(minted: &MintedCredential) -> CredentialSecret {
    minted.secret.clone().expect("a secret")
}

/// A key that both processes have cached.
async fn known_key(desk: &Desk) -> MintedCredential {
    let key = desk.key(&[Scope::AgentsRead]).await;
    assert!(desk.lets_in(&secret(&key)).await);
    assert!(desk.lets_in_elsewhere(&secret(&key)).await);
    key
}

#[tokio::test]
async fn the_previous_secret_is_valid_exactly_until_the_overlap_ends() {
    let desk = Desk::open().await;
    let key = known_key(&desk).await;
    let new = desk.rotate(&key, Some(60)).await.unwrap();
    for _ in 0..2 {
        assert!(desk.lets_in(&secret(&key)).await);
        assert!(desk.lets_in(&new).await);
    }
    desk.world.clock.forward(Duration::from_millis(59_999));
    desk.here.watch().await.unwrap();
    assert!(desk.lets_in(&secret(&key)).await, "and is remembered");
    desk.world.clock.forward(Duration::from_millis(1));
    assert!(!desk.lets_in(&secret(&key)).await);
    assert!(desk.lets_in(&new).await);
}

#[tokio::test]
async fn a_rotation_without_an_overlap_ends_the_previous_secret_at_once() {
    let desk = Desk::open().await;
    for overlap in [None, Some(0)] {
        let key = known_key(&desk).await;
        let new = desk.rotate(&key, overlap).await.unwrap();
        assert!(!desk.lets_in(&secret(&key)).await, "in this process");
        assert!(desk.lets_in(&new).await);
        assert!(desk.lets_in_elsewhere(&new).await);
        desk.elsewhere.watch().await.unwrap();
        assert!(!desk.lets_in_elsewhere(&secret(&key)).await);
    }
}

#[tokio::test]
async fn a_key_has_at_most_two_valid_secrets() {
    let desk = Desk::open().await;
    let key = known_key(&desk).await;
    let second = desk.rotate(&key, Some(604_800)).await.unwrap();
    let third = desk.rotate(&key, Some(604_800)).await.unwrap();
    assert!(!desk.lets_in(&secret(&key)).await);
    assert!(desk.lets_in(&second).await);
    assert!(desk.lets_in(&third).await);
}

#[tokio::test]
async fn an_overlap_lasts_at_most_a_week() {
    let desk = Desk::open().await;
    let key = known_key(&desk).await;
    let Err(CredentialError::Invalid(faults)) = desk.rotate(&key, Some(604_801)).await else {
        panic!("more than a week");
    };
    assert_eq!(faults[0].pointer, "/overlapSeconds");
    assert_eq!(faults[0].code, FaultCode::TooLarge);
    assert!(desk.lets_in(&secret(&key)).await, "nothing has changed");
}

#[tokio::test]
async fn a_revoked_key_is_rejected_here_at_once_and_elsewhere_after_the_next_poll() {
    let desk = Desk::open().await;
    let key = known_key(&desk).await;
    let overlapping = desk.rotate(&key, Some(60)).await.unwrap();
    let (kind, id) = (CredentialKind::Key, key.credential.id.clone());
    let operator = operator(tenant());
    desk.service.revoke(&operator, kind, &id).await.unwrap();
    assert!(!desk.lets_in(&secret(&key)).await);
    assert!(!desk.lets_in(&overlapping).await);
    desk.elsewhere.watch().await.unwrap();
    assert!(!desk.lets_in_elsewhere(&secret(&key)).await);

    desk.world.clock.forward(Duration::from_secs(1));
    desk.service.revoke(&operator, kind, &id).await.unwrap();
    let stored = desk.service.get(&operator, kind, &id).await.unwrap();
    assert_eq!(stored.revoked_at, Some(BEGINNING), "as it was");
}

#[tokio::test]
async fn an_expired_credential_is_not_rotated() {
    let desk = Desk::open().await;
    let revoked = known_key(&desk).await;
    let (kind, id) = (CredentialKind::Key, &revoked.credential.id);
    let gone = desk.service.revoke(&operator(tenant()), kind, id).await;
    gone.unwrap();
    let ending = CredentialDraft {
        expires_at: Some(BEGINNING + Duration::from_mins(1)),
        ..draft(&[Scope::AgentsRead])
    };
    let expired = desk.make(kind, ending).await;
    assert!(desk.rotate(&expired, None).await.is_ok());
    desk.world.clock.forward(Duration::from_mins(1));
    for ended in [revoked, expired] {
        let refused = desk.rotate(&ended, None).await;
        assert!(matches!(refused, Err(CredentialError::Ended(_))));
    }
}

#[tokio::test]
async fn a_key_is_last_used_when_it_was_last_let_in() {
    let desk = Desk::open().await;
    let key = known_key(&desk).await;
    let operator = operator(tenant());
    let last_used = async || {
        let (kind, id) = (CredentialKind::Key, &key.credential.id);
        let stored = desk.service.get(&operator, kind, id).await.unwrap();
        stored.last_used_at
    };
    assert_eq!(last_used().await, None, "not on the way of a request");
    desk.last_used.write().await.unwrap();
    assert_eq!(last_used().await, Some(BEGINNING));
    desk.world.clock.forward(Duration::from_secs(3));
    let secret = secret(&key);
    let credential = PresentedCredential::new(secret.reveal());
    assert!(desk.here.recognise(&credential).is_some());
    desk.last_used.write().await.unwrap();
    let later = BEGINNING + Duration::from_secs(3);
    assert_eq!(last_used().await, Some(later), "from memory too");
}

/// A set of one key, which differs for each number.
fn set_of(number: u8) -> Value {
    let x = URL_SAFE_NO_PAD.encode([number; 32]);
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]})
}

/// Creates a client from this draft, rotates it and returns the new proof.
async fn rotated(
    draft: CredentialDraft,
    rotation: Rotation,
) -> Result<Proof, Vec<(String, FaultCode)>> {
    let desk = Desk::open().await;
    let client = desk.make(CredentialKind::Client, draft).await;
    let (kind, id) = (CredentialKind::Client, &client.credential.id);
    let operator = operator(tenant());
    match desk
        .service
        .rotate(&operator, kind, id, rotation, None)
        .await
    {
        Ok(minted) => {
            assert!(minted.value.secret.is_none());
            Ok(minted.value.credential.proof)
        }
        Err(CredentialError::Invalid(faults)) => {
            let faults = faults.into_iter().map(|it| (it.pointer, it.code));
            Err(faults.collect())
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_client_with_a_set_hands_in_the_next() {
    let signing = CredentialDraft {
        jwks: Some(set_of(1)),
        ..draft(&[Scope::AgentsRead])
    };
    let to = |overlap_seconds, jwks| Rotation {
        overlap_seconds,
        jwks,
    };
    let fault = |pointer: &str, code| (pointer.to_owned(), code);
    assert_eq!(
        rotated(signing.clone(), to(None, Some(set_of(2)))).await,
        Ok(Proof::Keys(PublicKeys::Set(set_of(2))))
    );
    assert_eq!(
        rotated(signing.clone(), to(None, None)).await,
        Err(vec![fault("/jwks", FaultCode::Required)])
    );
    assert_eq!(
        rotated(signing.clone(), to(Some(0), Some(json!({"keys": []})))).await,
        Err(vec![
            fault("/jwks/keys", FaultCode::TooShort),
            fault("/overlapSeconds", FaultCode::NotCombinable),
        ])
    );
    assert_eq!(
        rotated(draft(&[Scope::AgentsRead]), to(None, Some(set_of(2)))).await,
        Err(vec![fault("/jwks", FaultCode::NotCombinable)])
    );
    let published = CredentialDraft {
        jwks_uri: Some("https://client.example/jwks.json".to_owned()),
        ..draft(&[Scope::AgentsRead])
    };
    for rotation in [to(None, None), to(None, Some(set_of(2)))] {
        let refused = rotated(published.clone(), rotation).await;
        assert_eq!(refused, Err(vec![fault("", FaultCode::NotCombinable)]));
    }
}
