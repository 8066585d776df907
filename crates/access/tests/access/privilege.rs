//! Permissions for the creation, rotation and revocation of keys and clients.

use access::{CredentialError, Rotation, operator};
use domain::{
    CredentialDraft, CredentialKind, FaultCode, Principal, Scope,
    credential::{Proof, PublicKeys},
};
use serde_json::json;

use crate::{
    credential_fixture::{CredentialFixture, draft, holder, set, tenant, user},
    fake_web::FORBIDDEN,
    fixture::START,
};
use CredentialKind::{Client, Key};
use Scope::{
    AgentsRead, AgentsWrite, ChatWrite, ConversationsAll, ConversationsRead, ConversationsWrite,
    EventsRead, KeysAdmin, MetricsRead,
};

/// Returns the scopes that a caller lacks to create, rotate and revoke a key with these scopes.
/// The three operations must agree.
async fn missing_scopes(
    fixture: &CredentialFixture,
    caller: &Principal,
    scopes: &[Scope],
) -> Vec<Scope> {
    let made = fixture
        .service
        .create(caller, Key, draft(scopes), None)
        .await;
    let there = fixture.key(scopes).await.credential.id;
    let rotation = Rotation::default();
    let rotated = fixture
        .service
        .rotate(caller, Key, &there, rotation, None)
        .await;
    let revoked = fixture.service.revoke(caller, Key, &there).await;
    let outcomes = [made.map(drop), rotated.map(drop), revoked];
    let mut lacking = outcomes.into_iter().map(|outcome| match outcome {
        Ok(()) => Vec::new(),
        Err(CredentialError::MissingScopes(missing)) => missing.iter().collect(),
        Err(error) => panic!("{error:?}"),
    });
    let first = lacking.next().expect("three outcomes");
    assert!(lacking.all(|other| other == first), "all three alike");
    first
}

#[tokio::test]
async fn a_caller_needs_every_scope_of_a_key_to_create_rotate_or_revoke_it() {
    let fixture = CredentialFixture::new().await;
    let caller = holder(&[KeysAdmin, AgentsRead, ChatWrite]);
    for (scopes, missing) in [
        (&[AgentsRead][..], &[][..]),
        (&[KeysAdmin, AgentsRead, ChatWrite], &[]),
        (&[AgentsWrite], &[AgentsWrite]),
        (
            &[AgentsRead, AgentsWrite, MetricsRead],
            &[AgentsWrite, MetricsRead],
        ),
        (&[ConversationsAll], &[ConversationsAll]),
    ] {
        assert_eq!(
            missing_scopes(&fixture, &caller, scopes).await,
            missing,
            "{scopes:?}"
        );
    }
}

#[tokio::test]
async fn a_rejected_operation_has_no_effect() {
    let fixture = CredentialFixture::new().await;
    let key = fixture.key(&[AgentsRead, AgentsWrite]).await;
    let caller = holder(&[KeysAdmin, AgentsRead]);
    assert_eq!(
        missing_scopes(&fixture, &caller, &[AgentsWrite]).await,
        [AgentsWrite]
    );
    assert!(
        fixture
            .is_accepted_locally(key.secret.as_ref().unwrap())
            .await
    );
    let everything = operator(tenant());
    let (page, _) = fixture
        .service
        .list(&everything, Key, None, 100)
        .await
        .unwrap();
    assert_eq!(page.items.len(), 2, "the operator's two");
    assert!(page.items.iter().all(|key| key.revoked_at.is_none()));
}

#[tokio::test]
async fn a_user_manages_keys_with_its_own_scopes() {
    let fixture = CredentialFixture::new().await;
    let manager = user(&[KeysAdmin, AgentsRead, AgentsWrite]);
    assert_eq!(missing_scopes(&fixture, &manager, &[AgentsRead]).await, []);
    assert_eq!(missing_scopes(&fixture, &manager, &[KeysAdmin]).await, []);
    assert_eq!(
        missing_scopes(&fixture, &manager, &[ChatWrite]).await,
        [ChatWrite, ConversationsAll]
    );
}

#[tokio::test]
async fn a_user_limited_to_its_own_conversations_cannot_create_a_key_that_reaches_all() {
    let fixture = CredentialFixture::new().await;
    let reaching = [ChatWrite, ConversationsRead, ConversationsWrite, EventsRead];
    let all_but_all = [&reaching[..], &[KeysAdmin, AgentsRead]].concat();
    for scope in reaching {
        let lacking = missing_scopes(&fixture, &user(&all_but_all), &[scope]).await;
        assert_eq!(lacking, [ConversationsAll], "{scope}");
        let unconfined = [&all_but_all[..], &[ConversationsAll]].concat();
        assert_eq!(
            missing_scopes(&fixture, &user(&unconfined), &[scope]).await,
            []
        );
        assert_eq!(
            missing_scopes(&fixture, &holder(&all_but_all), &[scope]).await,
            []
        );
    }
}

#[tokio::test]
async fn credentials_of_another_tenant_are_not_found() {
    let fixture = CredentialFixture::new().await;
    let other = "other".parse().unwrap();
    let made = fixture.base.storage.tenants.insert(&other, START).await;
    made.unwrap();
    let key = fixture.key(&[AgentsRead]).await.credential;
    let outsider = operator(other);
    let found = fixture.service.get(&outsider, Key, &key.id).await;
    assert!(matches!(found, Err(CredentialError::NotFound(Key))));
    let rotation = Rotation::default();
    let rotated = fixture
        .service
        .rotate(&outsider, Key, &key.id, rotation, None)
        .await;
    assert!(matches!(rotated, Err(CredentialError::NotFound(Key))));
    let revoked = fixture.service.revoke(&outsider, Key, &key.id).await;
    assert!(matches!(revoked, Err(CredentialError::NotFound(Key))));
    let (page, _) = fixture
        .service
        .list(&outsider, Key, None, 100)
        .await
        .unwrap();
    assert_eq!(page.items, []);
    let same = fixture.service.get(&operator(tenant()), Key, &key.id).await;
    assert_eq!(same.unwrap(), key);
    let as_client = fixture
        .service
        .get(&operator(tenant()), Client, &key.id)
        .await;
    assert!(matches!(as_client, Err(CredentialError::NotFound(Client))));
}

#[tokio::test]
async fn an_expiry_must_be_in_the_future() {
    let fixture = CredentialFixture::new().await;
    let ending = |milliseconds| CredentialDraft {
        expires_at: Some(START + std::time::Duration::from_millis(milliseconds)),
        ..draft(&[AgentsRead])
    };
    let operator = operator(tenant());
    let now = fixture
        .service
        .create(&operator, Key, ending(0), None)
        .await;
    let Err(CredentialError::Invalid(faults)) = now else {
        panic!("{now:?}");
    };
    assert_eq!(faults[0].pointer, "/expiresAt");
    assert_eq!(faults[0].code, FaultCode::TooSmall);
    let soon = fixture
        .service
        .create(&operator, Key, ending(1), None)
        .await;
    assert_eq!(
        soon.unwrap().value.credential.expires_at,
        ending(1).expires_at
    );
}

#[tokio::test]
async fn an_idempotency_key_creates_one_key_and_then_identifies_it() {
    let fixture = CredentialFixture::new().await;
    let caller = holder(&[KeysAdmin, AgentsRead]);
    let once = |kind, scopes: &[Scope]| {
        let key = "k-1".parse().ok();
        fixture.service.create(&caller, kind, draft(scopes), key)
    };
    let made = once(Key, &[AgentsRead]).await.unwrap().value.credential.id;
    let again = once(Key, &[AgentsRead]).await;
    let Err(CredentialError::SecretNotReplayable { id }) = again else {
        panic!("{again:?}");
    };
    assert_eq!(id, made);
    let other = once(Key, &[KeysAdmin]).await;
    assert!(matches!(other, Err(CredentialError::Idempotency(_))));
    once(Client, &[AgentsRead]).await.unwrap();
    let (page, _) = fixture.service.list(&caller, Key, None, 100).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].scopes, set(&[AgentsRead]));
}

#[tokio::test]
async fn a_client_with_public_keys_has_no_secret() {
    let fixture = CredentialFixture::new().await;
    let published = CredentialDraft {
        jwks_uri: Some("https://client.example/jwks.json".to_owned()),
        ..draft(&[AgentsRead])
    };
    let made = fixture.create(Client, published).await;
    assert!(made.secret.is_none());
    let at = PublicKeys::At("https://client.example/jwks.json".to_owned());
    assert_eq!(made.credential.proof, Proof::Keys(at));
    let private = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "", "d": ""}]});
    let leaking = CredentialDraft {
        jwks: Some(private),
        ..draft(&[AgentsRead])
    };
    let rejected = fixture
        .service
        .create(&operator(tenant()), Client, leaking, None)
        .await;
    let Err(CredentialError::Invalid(faults)) = rejected else {
        panic!("{rejected:?}");
    };
    assert_eq!(faults[0].pointer, "/jwks/keys/0/d");
}

#[tokio::test]
async fn keys_at_an_address_that_cannot_be_fetched_are_rejected() {
    let fixture = CredentialFixture::new().await;
    let unreachable = CredentialDraft {
        jwks_uri: Some(format!("{FORBIDDEN}0.0.1/jwks.json")),
        ..draft(&[AgentsRead])
    };
    let rejected = fixture
        .service
        .create(&operator(tenant()), Client, unreachable, None)
        .await;
    let Err(CredentialError::Invalid(faults)) = rejected else {
        panic!("{rejected:?}");
    };
    let [fault] = &faults[..] else {
        panic!("{faults:?}");
    };
    assert_eq!(fault.pointer, "/jwksUri");
    assert_eq!(fault.code, FaultCode::BadFormat);
}
