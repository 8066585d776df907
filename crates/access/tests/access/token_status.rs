//! The status of an access token while a socket or stream is open.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use access::{
    AccessError, AuthContext, CredentialEnd, CredentialWatch, PresentedCredential,
    signing_keys::PreviousKeys,
};
use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scopes, Timestamp};
use futures::poll;
use tokio::time::{advance, pause};

use crate::{
    credential_status::{over, told, watched},
    fixture::{Fixture, START},
    instrumented_credentials::InstrumentedCredentials,
    node::{Node, basic},
};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A process that knows the revoked credentials.
async fn watching(fixture: &Fixture) -> Node {
    let node = Node::start(fixture).await;
    node.authenticator.refresh().await.expect("a store");
    node
}

/// Advances all clocks.
async fn pass(fixture: &Fixture, time: Duration) {
    fixture.clock.forward(time);
    // The runtime rounds its timers up to the next millisecond.
    advance(time + MILLISECOND).await;
}

#[tokio::test]
async fn a_revoked_token_is_over_and_no_other_of_its_client() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let (token, other) = (node.token(&secret).await, node.token(&secret).await);
    let mut watch = watched(&node.authenticator, &token).await;
    let mut beside = watched(&node.authenticator, &other).await;
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    let revoked = node.server.revoke(&basic(&secret), Some(&token)).await;
    revoked.unwrap();
    assert_eq!(over(&mut watch).await, CredentialEnd::Revoked);
    assert_eq!(told(&node.authenticator, &mut beside).await, None);
}

#[tokio::test]
async fn a_revoked_client_takes_its_tokens_with_it() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = watched(&node.authenticator, &token).await;
    fixture.revoke(&client).await;
    node.authenticator.refresh().await.unwrap();
    assert_eq!(over(&mut watch).await, CredentialEnd::Revoked);
}

#[tokio::test]
async fn a_signing_key_that_is_dropped_takes_its_tokens_with_it() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = watched(&node.authenticator, &token).await;
    node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    node.authenticator.refresh().await.unwrap();
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    let elsewhere = Node::start(&fixture).await;
    elsewhere.keys.rotate(PreviousKeys::Drop).await.unwrap();
    node.authenticator.refresh().await.unwrap();
    assert_eq!(over(&mut watch).await, CredentialEnd::Revoked);
}

#[tokio::test]
async fn a_token_is_over_at_its_end_without_leeway() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = watched(&node.authenticator, &token).await;
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    pause();
    let mut over = pin!(watch.ended());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&fixture, Duration::from_millis(599_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(CredentialEnd::Expired));
}

#[tokio::test]
async fn who_comes_after_the_end_stays_as_long_as_clocks_may_differ() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    fixture.clock.forward(610 * SECOND);
    node.authenticator.refresh().await.unwrap();
    let mut watch = watched(&node.authenticator, &token).await;
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    pause();
    let mut over = pin!(watch.ended());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&fixture, Duration::from_millis(19_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(CredentialEnd::Expired));
}

#[tokio::test]
async fn a_newer_token_of_the_same_client_goes_on_beyond_the_end_of_the_older() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let (_, stranger) = fixture.client(|_| {}).await;
    let mut watch = watched(&node.authenticator, &node.token(&secret).await).await;
    fixture.clock.forward(500 * SECOND);
    let refresh = async |secret| {
        let token = node.token(secret).await;
        let presented = PresentedCredential::new(&token);
        node.authenticator.authenticate(&presented).await.unwrap()
    };
    let refused = watch.replace(refresh(&stranger).await);
    assert!(matches!(refused, Err(AccessError::Invalid)), "{refused:?}");
    watch.replace(refresh(&secret).await).unwrap();
    fixture.clock.forward(599 * SECOND);
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    fixture.clock.forward(SECOND);
    assert_eq!(over(&mut watch).await, CredentialEnd::Expired);
}

/// A user of an external issuer whose token ends at `ends_at`.
fn user(tenant: &str, ends_at: Timestamp) -> Arc<AuthContext> {
    Arc::new(AuthContext {
        principal: Principal {
            tenant: tenant.parse().expect("the id of a tenant"),
            id: PrincipalId::new("main~ada"),
            scopes: Scopes::all(),
            user_id: Some("main~ada".to_owned()),
        },
        credential: None,
        source: CredentialSource::ExternalToken,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: Some(ends_at),
    })
}

#[tokio::test]
async fn a_foreign_token_is_over_at_its_end_and_nobody_asks_the_store_for_it() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let node = watching(&fixture).await;
    let (client, _) = fixture.client(|_| {}).await;
    let ada = user("default", START + 600 * SECOND);
    let mut watch = node.authenticator.watch_credential(ada);
    fixture.revoke(&client).await;
    node.authenticator.refresh().await.unwrap();
    credentials.finds();
    pause();
    let mut over = pin!(watch.ended());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&fixture, Duration::from_millis(599_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(CredentialEnd::Expired));
    assert_eq!(credentials.finds(), 0);
}

#[tokio::test]
async fn the_user_of_the_same_name_in_another_tenant_is_another() {
    let fixture = Fixture::new().await;
    let node = watching(&fixture).await;
    let end = START + 600 * SECOND;
    let mut watch: CredentialWatch = node.authenticator.watch_credential(user("default", end));
    let refused = watch.replace(user("other", end));
    assert!(matches!(refused, Err(AccessError::Invalid)), "{refused:?}");
    assert_eq!(watch.auth_context(), &user("default", end));
    let later = end + SECOND;
    watch.replace(user("default", later)).unwrap();
    assert_eq!(watch.auth_context(), &user("default", later));
}
