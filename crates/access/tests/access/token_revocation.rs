//! Revocation and introspection of access tokens.

use std::time::Duration;

use access::oauth_server::{ClientCredentials, OAuthError};
use domain::TenantId;
use ports::Clock as _;

use crate::{
    fixture::{Fixture, START},
    node::{Node, basic},
};

const NOW: i64 = START.milliseconds() / 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_rejected_by_every_process() {
    let fixture = Fixture::new().await;
    let (here, there) = (Node::start(&fixture).await, Node::start(&fixture).await);
    let (_, secret) = fixture.client(|_| {}).await;
    let credentials = basic(&secret);
    let (token, kept) = (here.token(&secret).await, here.token(&secret).await);
    let before = fixture.storage.credentials.access_version().await.unwrap();
    for _ in 0..2 {
        here.server
            .revoke(&credentials, Some(&token))
            .await
            .unwrap();
        let after = fixture.storage.credentials.access_version().await.unwrap();
        assert_eq!(after, before + 1, "caches are invalidated");
    }
    for node in [&here, &there] {
        assert!(!node.accepts(&token).await);
        assert!(node.accepts(&kept).await);
    }
    for nothing in ["", "nonsense", "a.b.c", secret.reveal()] {
        here.server
            .revoke(&credentials, Some(nothing))
            .await
            .unwrap();
    }
    let outcome = here.server.revoke(&credentials, None).await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidRequest(_))),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_cannot_revoke_the_token_of_another_client() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let ((_, owner), (_, other)) = (fixture.client(|_| {}).await, fixture.client(|_| {}).await);
    let token = node.token(&owner).await;
    // A client of another tenant does not even learn that the token exists.
    let tenant: TenantId = "other".parse().unwrap();
    let tenants = &fixture.storage.tenants;
    tenants.insert(&tenant, fixture.clock.now()).await.unwrap();
    let (_, outsider) = fixture.client(|client| client.tenant = tenant).await;
    let outcome = node.server.revoke(&basic(&outsider), Some(&token)).await;
    outcome.expect("a token of another tenant is ignored");
    let outcome = node.server.revoke(&basic(&other), Some(&token)).await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidGrant)),
        "{outcome:?}"
    );
    let outcome = node
        .server
        .revoke(&ClientCredentials::default(), Some(&token))
        .await;
    assert!(
        matches!(outcome, Err(OAuthError::InvalidClient)),
        "{outcome:?}"
    );
    assert!(node.accepts(&token).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_of_its_tenant_can_introspect_a_token() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let other: TenantId = "other".parse().unwrap();
    let tenants = &fixture.storage.tenants;
    tenants.insert(&other, fixture.clock.now()).await.unwrap();
    let (client, secret) = fixture.client(|_| {}).await;
    let (_, colleague) = fixture.client(|_| {}).await;
    let (_, outsider) = fixture.client(|client| client.tenant = other).await;
    let token = node.token(&secret).await;
    let request = async |by, token: &str| node.server.introspect(&basic(by), Some(token)).await;
    for by in [&secret, &colleague] {
        let found = request(by, &token).await.unwrap().expect("a good token");
        assert_eq!(found.credential.id, client.id);
        assert_eq!(found.scopes, client.scopes);
        assert_eq!(found.issued_at, NOW);
        assert_eq!(found.ends_at, START + Duration::from_mins(10));
    }
    assert_eq!(request(&outsider, &token).await.unwrap(), None);
    assert_eq!(request(&secret, "nonsense").await.unwrap(), None);
    fixture.clock.forward(Duration::from_mins(10));
    assert_eq!(
        request(&secret, &token).await.unwrap(),
        None,
        "no leeway here"
    );
    let token = node.token(&secret).await;
    node.server
        .revoke(&basic(&secret), Some(&token))
        .await
        .unwrap();
    assert_eq!(request(&colleague, &token).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_of_a_revoked_client_are_rejected() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let (_, colleague) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    fixture.revoke(&client).await;
    assert!(!node.accepts(&token).await);
    let scope = node
        .server
        .introspect(&basic(&colleague), Some(&token))
        .await;
    assert_eq!(scope.unwrap(), None);
}
