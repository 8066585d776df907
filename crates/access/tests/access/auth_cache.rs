//! The cache of authenticated credentials, and its invalidation.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use access::{AccessError, PresentedCredential, signing_keys::PreviousKeys};
use async_trait::async_trait;
use domain::{SigningKey, Timestamp};
use ports::{RepositoryError, SigningKeyRepository};
use tokio::sync::oneshot;

use crate::{
    fixture::Fixture,
    node::{Node, basic},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_token_is_accepted_exactly_until_it_expires() {
    let fixture = Fixture::new().await;
    let node = Node::start(&fixture).await;
    let (client, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    let authenticator = &node.authenticator;
    authenticator.refresh().await.unwrap();
    assert!(authenticator.authenticate_cached(&presented).is_none());
    let auth_context = authenticator.authenticate(&presented).await.unwrap();
    assert_eq!(auth_context.credential, Some(client.id));
    assert_eq!(
        authenticator.authenticate_cached(&presented),
        Some(auth_context)
    );
    fixture.clock.forward(Duration::from_secs(590));
    authenticator.refresh().await.unwrap();
    authenticator.authenticate(&presented).await.unwrap();
    fixture.clock.forward(Duration::from_millis(9_999));
    authenticator.refresh().await.unwrap();
    assert!(authenticator.authenticate_cached(&presented).is_some());
    fixture.clock.forward(Duration::from_millis(1));
    assert!(authenticator.authenticate_cached(&presented).is_none());
    // The leeway applies to a new verification of the token, never to a cached result.
    authenticator.authenticate(&presented).await.unwrap();
    assert!(authenticator.authenticate_cached(&presented).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_leaves_the_local_cache_at_once_and_other_caches_at_the_next_poll() {
    let fixture = Fixture::new().await;
    let (here, there) = (Node::start(&fixture).await, Node::start(&fixture).await);
    let (_, secret) = fixture.client(|_| {}).await;
    let token = here.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    for node in [&here, &there] {
        node.authenticator.refresh().await.unwrap();
        node.authenticator.authenticate(&presented).await.unwrap();
    }
    let revoked = here.server.revoke(&basic(&secret), Some(&token)).await;
    revoked.unwrap();
    assert!(here.authenticator.authenticate_cached(&presented).is_none());
    assert!(
        there
            .authenticator
            .authenticate_cached(&presented)
            .is_some()
    );
    there.authenticator.refresh().await.unwrap();
    for node in [&here, &there] {
        assert!(node.authenticator.authenticate_cached(&presented).is_none());
        let outcome = node.authenticator.authenticate(&presented).await;
        assert!(matches!(outcome, Err(AccessError::Invalid)), "{outcome:?}");
    }
}

/// A repository that holds the next read of the keys until the test releases it.
struct BlockingSigningKeys {
    inner: Arc<dyn SigningKeyRepository>,
    next: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
}

#[async_trait]
impl SigningKeyRepository for BlockingSigningKeys {
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        let blocking = self.next.lock().expect("no panic").take();
        if let Some((begun, go)) = blocking {
            begun.send(()).expect("the test waits");
            go.await.expect("the test releases the read");
        }
        self.inner.list().await
    }

    async fn add(
        &self,
        key: &SigningKey,
        newest: Option<&str>,
        previous_until: Timestamp,
    ) -> Result<bool, RepositoryError> {
        self.inner.add(key, newest, previous_until).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_dropped_key_is_not_cached_while_the_keys_are_read() {
    let fixture = Fixture::new().await;
    let blocking = Arc::new(BlockingSigningKeys {
        inner: Arc::clone(&fixture.storage.signing_keys),
        next: Mutex::default(),
    });
    let node = Node::over(&fixture, None, blocking.clone(), fixture.clock.clone());
    node.keys.prepare().await.unwrap();
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    let authenticator = &node.authenticator;
    authenticator.refresh().await.unwrap();
    let elsewhere = Node::start(&fixture).await;
    elsewhere.keys.rotate(PreviousKeys::Drop).await.unwrap();

    let ((begun, has_begun), (go, may_go)) = (oneshot::channel(), oneshot::channel());
    *blocking.next.lock().expect("no panic") = Some((begun, may_go));
    let refreshing = async { authenticator.refresh().await.unwrap() };
    let authenticating = async {
        has_begun.await.unwrap();
        authenticator.authenticate(&presented).await.unwrap();
        go.send(()).unwrap();
    };
    tokio::join!(refreshing, authenticating);
    assert!(authenticator.authenticate_cached(&presented).is_none());
    let outcome = authenticator.authenticate(&presented).await;
    assert!(matches!(outcome, Err(AccessError::Invalid)), "{outcome:?}");
}
