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
    credential_status::{current_end, start_watch, wait_for_end},
    fixture::{Fixture, START},
    instrumented_credentials::InstrumentedCredentials,
    node::{Node, basic},
};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A process that knows the revoked credentials.
async fn refreshed_node(fixture: &Fixture) -> Node {
    let node = Node::start(fixture).await;
    node.authenticator.refresh().await.expect("a store");
    node
}

/// Advances all clocks.
async fn advance_clocks(fixture: &Fixture, time: Duration) {
    fixture.clock.forward(time);
    // The runtime rounds its timers up to the next millisecond.
    advance(time + MILLISECOND).await;
}

#[tokio::test]
async fn a_revoked_token_ends_and_no_other_token_of_its_client() {
    let fixture = Fixture::new().await;
    let node = refreshed_node(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let (token, other) = (node.token(&secret).await, node.token(&secret).await);
    let mut watch = start_watch(&node.authenticator, &token).await;
    let mut other_watch = start_watch(&node.authenticator, &other).await;
    assert_eq!(current_end(&node.authenticator, &mut watch).await, None);
    let revoked = node.server.revoke(&basic(&secret), Some(&token)).await;
    revoked.unwrap();
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
    assert_eq!(
        current_end(&node.authenticator, &mut other_watch).await,
        None
    );
}

#[tokio::test]
async fn the_tokens_of_a_revoked_client_end() {
    let fixture = Fixture::new().await;
    let node = refreshed_node(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = start_watch(&node.authenticator, &token).await;
    fixture.revoke(&client).await;
    node.authenticator.refresh().await.unwrap();
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
}

#[tokio::test]
async fn the_tokens_of_a_dropped_signing_key_end() {
    let fixture = Fixture::new().await;
    let node = refreshed_node(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = start_watch(&node.authenticator, &token).await;
    node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    node.authenticator.refresh().await.unwrap();
    assert_eq!(current_end(&node.authenticator, &mut watch).await, None);
    let elsewhere = Node::start(&fixture).await;
    elsewhere.keys.rotate(PreviousKeys::Drop).await.unwrap();
    node.authenticator.refresh().await.unwrap();
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
}

#[tokio::test]
async fn a_token_ends_at_its_expiry_without_leeway() {
    assert_watch_ends(Duration::ZERO, Duration::from_millis(599_999)).await;
}

#[tokio::test]
async fn a_watch_that_starts_within_the_leeway_ends_with_the_leeway() {
    assert_watch_ends(610 * SECOND, Duration::from_millis(19_999)).await;
}

/// Asserts that a watch on a token of this age lasts for `lifetime` and ends a millisecond later.
async fn assert_watch_ends(token_age: Duration, lifetime: Duration) {
    let fixture = Fixture::new().await;
    let node = refreshed_node(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    fixture.clock.forward(token_age);
    node.authenticator.refresh().await.expect("a store");
    let mut watch = start_watch(&node.authenticator, &token).await;
    assert_eq!(current_end(&node.authenticator, &mut watch).await, None);
    pause();
    let mut ended = pin!(watch.ended());
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, lifetime).await;
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut ended), Poll::Ready(CredentialEnd::Expired));
}

#[tokio::test]
async fn a_newer_token_of_the_same_client_extends_the_watch() {
    let fixture = Fixture::new().await;
    let node = refreshed_node(&fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let (_, outsider) = fixture.client(|_| {}).await;
    let mut watch = start_watch(&node.authenticator, &node.token(&secret).await).await;
    fixture.clock.forward(500 * SECOND);
    let refresh = async |secret| {
        let token = node.token(secret).await;
        let presented = PresentedCredential::new(&token);
        node.authenticator.authenticate(&presented).await.unwrap()
    };
    let rejected = watch.replace(refresh(&outsider).await);
    assert!(
        matches!(rejected, Err(AccessError::Invalid)),
        "{rejected:?}"
    );
    watch.replace(refresh(&secret).await).unwrap();
    fixture.clock.forward(599 * SECOND);
    assert_eq!(current_end(&node.authenticator, &mut watch).await, None);
    fixture.clock.forward(SECOND);
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Expired);
}

/// A user of an external issuer whose token ends at `ends_at`.
fn user(tenant: &str, ends_at: Timestamp) -> Arc<AuthContext> {
    Arc::new(AuthContext {
        principal: Principal {
            tenant: tenant.parse().expect("the id of a tenant"),
            id: PrincipalId::new("main~ada"),
            scopes: Scopes::all(),
            user_id: Some("main~ada".to_owned()),
            agents: domain::AgentReach::ALL,
            names_user: false,
        },
        credential: None,
        source: Arc::new(CredentialSource::ExternalToken),
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: Some(ends_at),
    })
}

#[tokio::test]
async fn an_external_token_ends_at_its_expiry_without_reads_of_the_store() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let node = refreshed_node(&fixture).await;
    let (client, _) = fixture.client(|_| {}).await;
    let ada = user("default", START + 600 * SECOND);
    let mut watch = node.authenticator.watch_credential(ada);
    fixture.revoke(&client).await;
    node.authenticator.refresh().await.unwrap();
    credentials.finds();
    pause();
    let mut ended = pin!(watch.ended());
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, Duration::from_millis(599_999)).await;
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut ended), Poll::Ready(CredentialEnd::Expired));
    assert_eq!(credentials.finds(), 0);
}

#[tokio::test]
async fn a_watch_rejects_the_same_user_id_in_another_tenant() {
    let fixture = Fixture::new().await;
    let node = refreshed_node(&fixture).await;
    let end = START + 600 * SECOND;
    let mut watch: CredentialWatch = node.authenticator.watch_credential(user("default", end));
    let rejected = watch.replace(user("other", end));
    assert!(
        matches!(rejected, Err(AccessError::Invalid)),
        "{rejected:?}"
    );
    assert_eq!(watch.auth_context(), &user("default", end));
    let later = end + SECOND;
    watch.replace(user("default", later)).unwrap();
    assert_eq!(watch.auth_context(), &user("default", later));
}
