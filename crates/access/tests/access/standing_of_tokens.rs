//! The status of an access token while a socket or stream is open.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use access::{
    AccessError, AuthContext, CredentialWatch, Over, PresentedCredential, server::PreviousKeys,
};
use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scopes, Timestamp};
use futures::poll;
use tokio::time::{advance, pause};

use crate::{
    credential_status::{over, told, watched},
    node::{Node, basic},
    probed_credentials::ProbedCredentials,
    world::{BEGINNING, World},
};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A process that knows the revoked credentials.
async fn watching(world: &World) -> Node {
    let node = Node::start(world).await;
    node.authenticator.watch().await.expect("a store");
    node
}

/// Advances all clocks.
async fn pass(world: &World, time: Duration) {
    world.clock.forward(time);
    // The runtime rounds its timers up to the next millisecond.
    advance(time + MILLISECOND).await;
}

#[tokio::test]
async fn a_revoked_token_is_over_and_no_other_of_its_client() {
    let world = World::new().await;
    let node = watching(&world).await;
    let (_, secret) = world.client(|_| {}).await;
    let (token, other) = (node.token(&secret).await, node.token(&secret).await);
    let mut watch = watched(&node.authenticator, &token).await;
    let mut beside = watched(&node.authenticator, &other).await;
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    let revoked = node.server.revoke(&basic(&secret), Some(&token)).await;
    revoked.unwrap();
    assert_eq!(over(&mut watch).await, Over::Revoked);
    assert_eq!(told(&node.authenticator, &mut beside).await, None);
}

#[tokio::test]
async fn a_revoked_client_takes_its_tokens_with_it() {
    let world = World::new().await;
    let node = watching(&world).await;
    let (client, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = watched(&node.authenticator, &token).await;
    world.revoke(&client).await;
    node.authenticator.watch().await.unwrap();
    assert_eq!(over(&mut watch).await, Over::Revoked);
}

#[tokio::test]
async fn a_signing_key_that_is_dropped_takes_its_tokens_with_it() {
    let world = World::new().await;
    let node = watching(&world).await;
    let (_, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = watched(&node.authenticator, &token).await;
    node.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    node.authenticator.watch().await.unwrap();
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    let elsewhere = Node::start(&world).await;
    elsewhere.keys.rotate(PreviousKeys::Drop).await.unwrap();
    node.authenticator.watch().await.unwrap();
    assert_eq!(over(&mut watch).await, Over::Revoked);
}

#[tokio::test]
async fn a_token_is_over_at_its_end_without_leeway() {
    let world = World::new().await;
    let node = watching(&world).await;
    let (_, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    let mut watch = watched(&node.authenticator, &token).await;
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    pause();
    let mut over = pin!(watch.over());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&world, Duration::from_millis(599_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&world, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(Over::Ended));
}

#[tokio::test]
async fn who_comes_after_the_end_stays_as_long_as_clocks_may_differ() {
    let world = World::new().await;
    let node = watching(&world).await;
    let (_, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    world.clock.forward(610 * SECOND);
    node.authenticator.watch().await.unwrap();
    let mut watch = watched(&node.authenticator, &token).await;
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    pause();
    let mut over = pin!(watch.over());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&world, Duration::from_millis(19_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&world, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(Over::Ended));
}

#[tokio::test]
async fn a_newer_token_of_the_same_client_goes_on_beyond_the_end_of_the_older() {
    let world = World::new().await;
    let node = watching(&world).await;
    let (_, secret) = world.client(|_| {}).await;
    let (_, stranger) = world.client(|_| {}).await;
    let mut watch = watched(&node.authenticator, &node.token(&secret).await).await;
    world.clock.forward(500 * SECOND);
    let refresh = async |secret| {
        let token = node.token(secret).await;
        let presented = PresentedCredential::new(&token);
        node.authenticator.authenticate(&presented).await.unwrap()
    };
    let refused = watch.replace(refresh(&stranger).await);
    assert!(matches!(refused, Err(AccessError::Invalid)), "{refused:?}");
    watch.replace(refresh(&secret).await).unwrap();
    world.clock.forward(599 * SECOND);
    assert_eq!(told(&node.authenticator, &mut watch).await, None);
    world.clock.forward(SECOND);
    assert_eq!(over(&mut watch).await, Over::Ended);
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
        standing: CredentialSource::ForeignToken,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at: Some(ends_at),
    })
}

#[tokio::test]
async fn a_foreign_token_is_over_at_its_end_and_nobody_asks_the_store_for_it() {
    let mut world = World::new().await;
    let credentials = ProbedCredentials::in_front_of(&mut world);
    let node = watching(&world).await;
    let (client, _) = world.client(|_| {}).await;
    let ada = user("default", BEGINNING + 600 * SECOND);
    let mut watch = node.authenticator.watch_over(ada);
    world.revoke(&client).await;
    node.authenticator.watch().await.unwrap();
    credentials.finds();
    pause();
    let mut over = pin!(watch.over());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&world, Duration::from_millis(599_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&world, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(Over::Ended));
    assert_eq!(credentials.finds(), 0);
}

#[tokio::test]
async fn the_user_of_the_same_name_in_another_tenant_is_another() {
    let world = World::new().await;
    let node = watching(&world).await;
    let end = BEGINNING + 600 * SECOND;
    let mut watch: CredentialWatch = node.authenticator.watch_over(user("default", end));
    let refused = watch.replace(user("other", end));
    assert!(matches!(refused, Err(AccessError::Invalid)), "{refused:?}");
    assert_eq!(watch.entrant(), &user("default", end));
    let later = end + SECOND;
    watch.replace(user("default", later)).unwrap();
    assert_eq!(watch.entrant(), &user("default", later));
}
