//! The cache of authenticated credentials, and its invalidation.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use access::{AccessError, PresentedCredential, server::PreviousKeys};
use async_trait::async_trait;
use domain::{SigningKey, Timestamp};
use ports::{RepositoryError, SigningKeyRepository};
use tokio::sync::oneshot;

use crate::{
    node::{Node, basic},
    world::World,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_token_is_accepted_exactly_until_it_expires() {
    let world = World::new().await;
    let node = Node::start(&world).await;
    let (client, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    let authenticator = &node.authenticator;
    authenticator.watch().await.unwrap();
    assert!(authenticator.recognise(&presented).is_none());
    let entrant = authenticator.authenticate(&presented).await.unwrap();
    assert_eq!(entrant.credential, Some(client.id));
    assert_eq!(authenticator.recognise(&presented), Some(entrant));
    world.clock.forward(Duration::from_secs(590));
    authenticator.watch().await.unwrap();
    authenticator.authenticate(&presented).await.unwrap();
    world.clock.forward(Duration::from_millis(9_999));
    authenticator.watch().await.unwrap();
    assert!(authenticator.recognise(&presented).is_some());
    world.clock.forward(Duration::from_millis(1));
    assert!(authenticator.recognise(&presented).is_none());
    // The leeway applies to a new verification of the token, never to a cached result.
    authenticator.authenticate(&presented).await.unwrap();
    assert!(authenticator.recognise(&presented).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_leaves_the_local_cache_at_once_and_other_caches_at_the_next_poll() {
    let world = World::new().await;
    let (here, there) = (Node::start(&world).await, Node::start(&world).await);
    let (_, secret) = world.client(|_| {}).await;
    let token = here.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    for node in [&here, &there] {
        node.authenticator.watch().await.unwrap();
        node.authenticator.authenticate(&presented).await.unwrap();
    }
    let revoked = here.server.revoke(&basic(&secret), Some(&token)).await;
    revoked.unwrap();
    assert!(here.authenticator.recognise(&presented).is_none());
    assert!(there.authenticator.recognise(&presented).is_some());
    there.authenticator.watch().await.unwrap();
    for node in [&here, &there] {
        assert!(node.authenticator.recognise(&presented).is_none());
        let outcome = node.authenticator.authenticate(&presented).await;
        assert!(matches!(outcome, Err(AccessError::Invalid)), "{outcome:?}");
    }
}

/// A repository that holds the next read of the keys until the test releases it.
struct Held {
    inner: Arc<dyn SigningKeyRepository>,
    next: Mutex<Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>>,
}

#[async_trait]
impl SigningKeyRepository for Held {
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        let held = self.next.lock().expect("whole").take();
        if let Some((begun, go)) = held {
            begun.send(()).expect("the test waits");
            go.await.expect("the test lets go");
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
    let world = World::new().await;
    let held = Arc::new(Held {
        inner: Arc::clone(&world.storage.signing_keys),
        next: Mutex::default(),
    });
    let node = Node::over(&world, None, held.clone(), world.clock.clone());
    node.keys.prepare().await.unwrap();
    let (_, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    let presented = PresentedCredential::new(&token);
    let authenticator = &node.authenticator;
    authenticator.watch().await.unwrap();
    let elsewhere = Node::start(&world).await;
    elsewhere.keys.rotate(PreviousKeys::Drop).await.unwrap();

    let ((begun, has_begun), (go, may_go)) = (oneshot::channel(), oneshot::channel());
    *held.next.lock().expect("whole") = Some((begun, may_go));
    let looking = async { authenticator.watch().await.unwrap() };
    let entering = async {
        has_begun.await.unwrap();
        authenticator.authenticate(&presented).await.unwrap();
        go.send(()).unwrap();
    };
    tokio::join!(looking, entering);
    assert!(authenticator.recognise(&presented).is_none());
    let outcome = authenticator.authenticate(&presented).await;
    assert!(matches!(outcome, Err(AccessError::Invalid)), "{outcome:?}");
}
