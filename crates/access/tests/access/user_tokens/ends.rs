//! Ends of tokens for users.

use std::time::Duration;

use access::{CredentialEnd, UserTokenError, UserTokenRequest, signing_keys::PreviousKeys};
use domain::{CredentialKind, Scopes};

use super::backend::{Backend, DAY, request};
use crate::{
    credential_status::{current_end, start_watch, wait_for_end},
    fixture::Fixture,
    node::basic,
};

#[tokio::test(flavor = "multi_thread")]
async fn withdrawn_tokens_end_in_every_process() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let elsewhere = Backend::over(&fixture, backend.issuer.clone()).await;
    let (first, second) = (backend.token("ada").await, elsewhere.token("ada").await);
    let other = backend.token("Ada").await;
    let mut watches = Vec::new();
    for token in [&first, &second] {
        for node in [&backend.node, &elsewhere.node] {
            let mut watch = start_watch(&node.authenticator, token).await;
            assert_eq!(current_end(&node.authenticator, &mut watch).await, None);
            watches.push(watch);
        }
    }
    let mut other_watch = start_watch(&elsewhere.node.authenticator, &other).await;
    backend.withdraw("ada").await;
    elsewhere.node.authenticator.refresh().await.unwrap();
    for watch in &mut watches {
        assert_eq!(wait_for_end(watch).await, CredentialEnd::Revoked);
    }
    let authenticator = &elsewhere.node.authenticator;
    assert_eq!(current_end(authenticator, &mut other_watch).await, None);
    let later = backend.token("ada").await;
    for node in [&backend.node, &elsewhere.node] {
        assert!(!node.accepts(&first).await);
        assert!(!node.accepts(&second).await);
        assert!(node.accepts(&other).await);
        assert!(node.accepts(&later).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_end_with_the_revocation_of_their_issuer() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |issuer| issuer.kind = CredentialKind::Client).await;
    let token = backend.token("ada").await;
    let mut watch = start_watch(&backend.node.authenticator, &token).await;
    fixture.revoke(&backend.issuer).await;
    backend.node.authenticator.refresh().await.unwrap();
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
    assert!(!backend.node.accepts(&token).await);
    let outcome = backend.issue(request("ada")).await;
    assert!(matches!(outcome, Err(UserTokenError::CredentialEnded)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_outlives_the_rotation_of_the_signing_key() {
    let fixture = Fixture::new().await;
    let backend = Backend::start(&fixture, |_| {}).await;
    let lasting = UserTokenRequest {
        expires_in: DAY,
        ..request("ada")
    };
    let token = backend.issue(lasting).await.unwrap().text;
    backend
        .node
        .keys
        .rotate(PreviousKeys::Overlap)
        .await
        .unwrap();
    fixture
        .clock
        .forward(Duration::from_secs(u64::from(DAY) - 1));
    assert!(backend.node.accepts(&token).await);
    backend.node.keys.rotate(PreviousKeys::Drop).await.unwrap();
    assert!(!backend.node.accepts(&token).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_can_introspect_user_tokens_and_revoke_its_own() {
    let fixture = Fixture::new().await;
    let (client, secret) = fixture.client(|client| client.scopes = Scopes::all()).await;
    let own = Backend::over(&fixture, client).await;
    let others = Backend::start(&fixture, |_| {}).await;
    for (backend, is_revocable) in [(&own, true), (&others, false)] {
        let (token, server) = (backend.token("ada").await, &own.node.server);
        let found = server.introspect(&basic(&secret), Some(&token)).await;
        let found = found.unwrap().expect("an active token");
        assert_eq!(found.principal().as_str(), "user:ada");
        assert_eq!(found.credential.id, backend.issuer.id);
        let revoked = server.revoke(&basic(&secret), Some(&token)).await;
        assert_eq!(revoked.is_ok(), is_revocable);
        assert_eq!(own.node.accepts(&token).await, !is_revocable);
    }
}
