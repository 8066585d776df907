//! Changes of keys: in force in this process at once, and in others with the access version.

use std::{sync::Arc, time::Duration};

use access::{
    AuthContext, Authenticator, CredentialEnd, CredentialError, IssuedCredential,
    PresentedCredential, operator,
};
use domain::{AgentId, AgentReach, CredentialDraft, CredentialKind, Principal, Scope};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    credential_fixture::{CredentialFixture, draft, holder, tenant},
    credential_status::{current_end, start_local_watch},
    fixture::START,
};

const KEY: CredentialKind = CredentialKind::Key;

fn agent(number: u128) -> AgentId {
    AgentId::new(Uuid::from_u128(number))
}

async fn patch(
    fixture: &CredentialFixture,
    caller: &Principal,
    key: &IssuedCredential,
    patch: Value,
) -> Result<(), CredentialError> {
    let id = &key.credential.id;
    fixture.service.patch(caller, KEY, id, &patch).await?;
    Ok(())
}

/// The access with a key, from the cache if possible.
async fn access(authenticator: &Authenticator, key: &IssuedCredential) -> Arc<AuthContext> {
    let secret = key.secret.as_ref().expect("a secret");
    let presented = PresentedCredential::new(secret.reveal());
    match authenticator.authenticate_cached(&presented) {
        Some(access) => access,
        None => authenticator.authenticate(&presented).await.expect("valid"),
    }
}

#[tokio::test]
async fn a_change_is_in_force_here_at_once_and_elsewhere_with_the_access_version() {
    let fixture = CredentialFixture::new().await;
    let key = fixture.key(&[Scope::AgentsRead]).await;
    let before = access(&fixture.remote, &key).await;
    access(&fixture.local, &key).await;
    let change = json!({
        "limits": {"streams": 1}, "allowedOrigins": ["https://a.example"], "agentIds": [agent(1)],
    });
    let operator = operator(tenant());
    patch(&fixture, &operator, &key, change).await.unwrap();
    let here = access(&fixture.local, &key).await;
    assert_eq!(here.limits.streams, Some(1));
    assert_eq!(here.allowed_origins, ["https://a.example"]);
    assert_eq!(here.principal.agents, AgentReach::only([agent(1)]));
    assert_eq!(access(&fixture.remote, &key).await, before);
    fixture.remote.refresh().await.unwrap();
    assert_eq!(access(&fixture.remote, &key).await, here);
}

#[tokio::test]
async fn only_fewer_agents_end_an_open_connection() {
    let fixture = CredentialFixture::new().await;
    let key = fixture
        .create(
            KEY,
            CredentialDraft {
                agents: AgentReach::only([agent(1), agent(2)]),
                ..draft(&[Scope::EventsRead])
            },
        )
        .await;
    let operator = operator(tenant());
    let mut watch = start_local_watch(&fixture, &key).await;
    for kept in [
        json!({"limits": {"streams": 1}, "allowedOrigins": ["https://a.example"]}),
        json!({"agentIds": [agent(3), agent(2), agent(1)]}),
        json!({"agentIds": null}),
    ] {
        patch(&fixture, &operator, &key, kept).await.unwrap();
        assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    }
    let narrower = json!({"agentIds": [agent(2)]});
    patch(&fixture, &operator, &key, narrower).await.unwrap();
    let end = current_end(&fixture.local, &mut watch).await;
    assert_eq!(end, Some(CredentialEnd::Expired));
    let mut next = start_local_watch(&fixture, &key).await;
    assert_eq!(current_end(&fixture.local, &mut next).await, None);
}

#[tokio::test]
async fn an_open_connection_ends_with_the_new_expiry() {
    let fixture = CredentialFixture::new().await;
    let key = fixture.key(&[Scope::EventsRead]).await;
    let mut watch = start_local_watch(&fixture, &key).await;
    let end = START + Duration::from_mins(1);
    let operator = operator(tenant());
    let ending = json!({"expiresAt": end});
    patch(&fixture, &operator, &key, ending).await.unwrap();
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    fixture.base.clock.forward(Duration::from_mins(1));
    let ended = current_end(&fixture.local, &mut watch).await;
    assert_eq!(ended, Some(CredentialEnd::Expired));
}

#[tokio::test]
async fn a_caller_needs_the_scopes_and_the_agents_of_the_key() {
    let fixture = CredentialFixture::new().await;
    let key = fixture.key(&[Scope::AgentsRead]).await;
    let rename = || json!({"name": "new"});
    let poor = holder(&[Scope::KeysAdmin]);
    let refused = patch(&fixture, &poor, &key, rename()).await;
    assert!(matches!(refused, Err(CredentialError::MissingScopes(_))));
    let confined = Principal {
        agents: AgentReach::only([agent(1)]),
        ..holder(&[Scope::KeysAdmin, Scope::AgentsRead])
    };
    let hidden = patch(&fixture, &confined, &key, rename()).await;
    assert!(matches!(hidden, Err(CredentialError::NotFound(KEY))));
}
