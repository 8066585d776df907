//! Idempotency keys for the creation and rotation of keys and clients. A repeated request is
//! recognised, whatever has changed since.

use std::time::Duration;

use access::{CredentialError, IssuedCredential, Rotation, operator};
use application::{IdempotencyConflict, idempotency::Created};
use domain::{CredentialDraft, CredentialId, CredentialKind, Principal, Scope};

use crate::{
    credential_fixture::{CredentialFixture, draft, holder, tenant},
    fixture::START,
};
use CredentialKind::{Client, Key};

type Outcome = Result<Created<IssuedCredential>, CredentialError>;

async fn create(
    fixture: &CredentialFixture,
    caller: &Principal,
    draft: CredentialDraft,
) -> Outcome {
    let key = "k".parse().ok();
    fixture.service.create(caller, Key, draft, key).await
}

async fn rotate(
    fixture: &CredentialFixture,
    caller: &Principal,
    (kind, id): (CredentialKind, &CredentialId),
    rotation: &Rotation,
) -> Outcome {
    let key = "k".parse().ok();
    fixture
        .service
        .rotate(caller, kind, id, rotation.clone(), key)
        .await
}

/// The credential that the idempotency key was used for. The response contains no secret.
fn used_for(outcome: Outcome) -> CredentialId {
    match outcome {
        Err(CredentialError::SecretNotReplayable { id }) => id,
        other => panic!("{other:?}"),
    }
}

fn assert_reused(outcome: &Outcome) {
    let Err(CredentialError::Idempotency(rejected)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(*rejected, IdempotencyConflict::Reused);
}

#[tokio::test]
async fn a_repeated_draft_is_recognised_after_its_expiry() {
    let fixture = CredentialFixture::new().await;
    let ending = CredentialDraft {
        expires_at: Some(START + Duration::from_mins(1)),
        ..draft(&[Scope::AgentsRead])
    };
    let operator = operator(tenant());
    let created = create(&fixture, &operator, ending.clone()).await.unwrap();
    fixture.base.clock.forward(Duration::from_mins(1));
    let again = create(&fixture, &operator, ending.clone()).await;
    assert_eq!(used_for(again), created.value.credential.id);
    let other = CredentialDraft {
        name: "another".to_owned(),
        ..ending
    };
    assert_reused(&create(&fixture, &operator, other).await);
}

#[tokio::test]
async fn a_repeated_request_is_recognised_after_its_caller_lost_a_scope() {
    let fixture = CredentialFixture::new().await;
    let wanted = [Scope::KeysAdmin, Scope::AgentsRead];
    let before = holder(&wanted);
    let after = holder(&[Scope::KeysAdmin]);
    let created = create(&fixture, &before, draft(&wanted)).await.unwrap();
    let id = &created.value.credential.id;
    let again = create(&fixture, &after, draft(&wanted)).await;
    assert_eq!(&used_for(again), id);
    let rotation = Rotation::default();
    rotate(&fixture, &before, (Key, id), &rotation)
        .await
        .unwrap();
    let again = rotate(&fixture, &after, (Key, id), &rotation).await;
    assert_eq!(&used_for(again), id);
    let fewer = draft(&[Scope::AgentsRead]);
    assert_reused(&create(&fixture, &after, fewer.clone()).await);
    let anew = fixture.service.create(&after, Key, fewer, None).await;
    assert!(
        matches!(anew, Err(CredentialError::MissingScopes(_))),
        "{anew:?}"
    );
}

#[tokio::test]
async fn a_repeated_rotation_does_not_change_the_secret() {
    let fixture = CredentialFixture::new().await;
    let key = fixture.key(&[Scope::AgentsRead]).await;
    let (operator, id) = (operator(tenant()), &key.credential.id);
    let rotation = Rotation::default();
    let rotated = rotate(&fixture, &operator, (Key, id), &rotation).await;
    let secret = rotated.unwrap().value.secret.expect("a new secret");
    for _ in 0..2 {
        let again = rotate(&fixture, &operator, (Key, id), &rotation).await;
        assert_eq!(&used_for(again), id);
        assert!(fixture.is_accepted_locally(&secret).await);
    }
    fixture.service.revoke(&operator, Key, id).await.unwrap();
    let again = rotate(&fixture, &operator, (Key, id), &rotation).await;
    assert_eq!(&used_for(again), id);
    let unknown = "000000000000".parse().unwrap();
    assert_reused(&rotate(&fixture, &operator, (Key, &unknown), &rotation).await);
}

#[tokio::test]
async fn a_rejected_rotation_is_not_recorded() {
    let fixture = CredentialFixture::new().await;
    let key = fixture.key(&[Scope::AgentsRead]).await;
    let (operator, id) = (operator(tenant()), &key.credential.id);
    let too_long = Rotation {
        overlap_seconds: Some(604_801),
        jwks: None,
    };
    let rejected = rotate(&fixture, &operator, (Key, id), &too_long).await;
    assert!(matches!(rejected, Err(CredentialError::Invalid(_))));
    let rotated = rotate(&fixture, &operator, (Key, id), &Rotation::default()).await;
    assert!(!rotated.unwrap().is_replayed);
}

#[tokio::test]
async fn the_response_about_a_client_with_public_keys_is_replayed() {
    let fixture = CredentialFixture::new().await;
    let published = CredentialDraft {
        jwks_uri: Some("https://client.example/jwks.json".to_owned()),
        ..draft(&[Scope::AgentsRead])
    };
    let operator = operator(tenant());
    let make = || {
        let key = "k".parse().ok();
        fixture
            .service
            .create(&operator, Client, published.clone(), key)
    };
    let first = make().await.unwrap();
    let id = first.value.credential.id.clone();
    let used = [(id.clone(), START + Duration::from_secs(3))];
    fixture.base.storage.credentials.touch(&used).await.unwrap();
    fixture
        .service
        .revoke(&operator, Client, &id)
        .await
        .unwrap();
    let again = make().await.unwrap();
    assert!(!first.is_replayed && again.is_replayed);
    assert!(again.value.secret.is_none());
    assert_eq!(again.value.credential, first.value.credential);
}
