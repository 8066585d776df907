//! Reads of the store because of unknown signing keys.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use access::{AccessError, signing_keys::PreviousKeys};
use async_trait::async_trait;
use domain::{SigningKey, Timestamp};
use futures::future::join_all;
use ports::{RepositoryError, SigningKeyRepository};

use crate::{fixture::Fixture, node::Node};

const SECOND: Duration = Duration::from_secs(1);

/// A repository that counts reads of the keys, and can be unavailable.
struct CountingSigningKeys {
    inner: Arc<dyn SigningKeyRepository>,
    reads: AtomicUsize,
    is_unavailable: AtomicBool,
}

impl CountingSigningKeys {
    fn over(fixture: &Fixture) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(&fixture.storage.signing_keys),
            reads: AtomicUsize::new(0),
            is_unavailable: AtomicBool::new(false),
        })
    }
}

#[async_trait]
impl SigningKeyRepository for CountingSigningKeys {
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.is_unavailable.load(Ordering::SeqCst) {
            return Err(RepositoryError::Unavailable("away".into()));
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
async fn a_key_of_another_process_is_found_by_its_id() {
    let fixture = Fixture::new().await;
    let (here, there) = (Node::start(&fixture).await, Node::start(&fixture).await);
    let (_, secret) = fixture.client(|_| {}).await;
    here.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    assert!(there.accepts(&here.token(&secret).await).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_read_once_a_second_for_unknown_keys() {
    let fixture = Fixture::new().await;
    let counted = CountingSigningKeys::over(&fixture);
    let node = Node::over(&fixture, None, counted.clone(), fixture.clock.clone());
    node.keys.prepare().await.unwrap();
    let (_, secret) = fixture.client(|_| {}).await;
    let outsider = {
        let elsewhere = Fixture::new().await;
        let (_, secret) = elsewhere.client(|_| {}).await;
        Node::start(&elsewhere).await.token(&secret).await
    };
    counted.reads.store(0, Ordering::SeqCst);
    let requests = join_all((0..16).map(|_| node.accepts(&outsider))).await;
    assert!(requests.iter().all(|is_in| !is_in));
    assert_eq!(counted.reads.load(Ordering::SeqCst), 1);
    fixture.clock.forward(SECOND);
    assert!(!node.accepts(&outsider).await);
    assert_eq!(counted.reads.load(Ordering::SeqCst), 2);
    assert!(node.accepts(&node.token(&secret).await).await);
    assert_eq!(
        counted.reads.load(Ordering::SeqCst),
        2,
        "a known key needs no look"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_of_the_keys_does_not_reject_a_token() {
    let fixture = Fixture::new().await;
    let counted = CountingSigningKeys::over(&fixture);
    let node = Node::over(&fixture, None, counted.clone(), fixture.clock.clone());
    node.keys.prepare().await.unwrap();
    let elsewhere = Node::start(&fixture).await;
    elsewhere.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    let (_, secret) = fixture.client(|_| {}).await;
    let token = elsewhere.token(&secret).await;
    counted.reads.store(0, Ordering::SeqCst);
    counted.is_unavailable.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let outcome = node.authenticate(&token).await;
        let is_unavailable = matches!(
            outcome,
            Err(AccessError::Store(RepositoryError::Unavailable(_)))
        );
        assert!(is_unavailable, "{outcome:?}");
    }
    assert_eq!(counted.reads.load(Ordering::SeqCst), 1);
    counted.is_unavailable.store(false, Ordering::SeqCst);
    fixture.clock.forward(SECOND);
    assert!(node.accepts(&token).await);
    assert_eq!(counted.reads.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_successful_read_of_the_keys_clears_an_earlier_failure() {
    let fixture = Fixture::new().await;
    let counted = CountingSigningKeys::over(&fixture);
    let node = Node::over(&fixture, None, counted.clone(), fixture.clock.clone());
    node.keys.prepare().await.unwrap();
    let elsewhere = Node::start(&fixture).await;
    elsewhere.keys.rotate(PreviousKeys::Overlap).await.unwrap();
    let (_, secret) = fixture.client(|_| {}).await;
    let outsider = {
        let elsewhere = Fixture::new().await;
        let (_, secret) = elsewhere.client(|_| {}).await;
        Node::start(&elsewhere).await.token(&secret).await
    };
    counted.is_unavailable.store(true, Ordering::SeqCst);
    assert!(node.authenticate(&outsider).await.is_err());
    counted.is_unavailable.store(false, Ordering::SeqCst);
    node.keys.reload().await.unwrap();
    assert!(node.accepts(&elsewhere.token(&secret).await).await);
    assert!(
        !node.accepts(&outsider).await,
        "an unknown key is no failure"
    );
}
