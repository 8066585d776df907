//! Propagation of revocations from one process to another.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use access::PresentedCredential;
use futures::StreamExt as _;
use ports::{EventBus, Signal};
use single_node::LocalBus;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    fixture::Fixture,
    instrumented_credentials::InstrumentedCredentials,
    node::{Node, basic},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_revoked_on_one_node_is_rejected_by_another_within_a_second() {
    let fixture = Fixture::new().await;
    let (here, there) = (Node::start(&fixture).await, Node::start(&fixture).await);
    let stop = CancellationToken::new();
    let watching = TaskTracker::new().spawn(Arc::clone(&there.authenticator).run(stop.clone()));
    let mut quickest = Duration::MAX;
    // A machine may stall for a second, but hardly in every round.
    for _ in 0..5 {
        let (_, secret) = fixture.client(|_| {}).await;
        let token = here.token(&secret).await;
        let presented = PresentedCredential::new(&token);
        until(|| async {
            there.authenticator.authenticate(&presented).await.unwrap();
            there
                .authenticator
                .authenticate_cached(&presented)
                .is_some()
        })
        .await;
        let revoked = here.server.revoke(&basic(&secret), Some(&token)).await;
        revoked.unwrap();
        let rejected = until(|| async {
            there
                .authenticator
                .authenticate_cached(&presented)
                .is_none()
        });
        quickest = quickest.min(rejected.await);
        let outcome = there.authenticator.authenticate(&presented).await;
        assert!(outcome.is_err(), "{outcome:?}");
        if quickest < Duration::from_secs(1) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(1), "it took {quickest:?}");
    stop.cancel();
    watching.await.unwrap();
}

/// Repeats a check until it succeeds, and returns the time that this took.
async fn until<F: Future<Output = bool>>(condition: impl Fn() -> F) -> Duration {
    let began = Instant::now();
    while !condition().await {
        assert!(
            began.elapsed().as_secs() < 30,
            "the condition does not hold in time"
        );
        tokio::task::yield_now().await;
    }
    began.elapsed()
}

/// A node, the repository that it reads credentials from, and a token of the node.
async fn caching_node(fixture: &mut Fixture) -> (Node, Arc<InstrumentedCredentials>, String) {
    let credentials = InstrumentedCredentials::wrap(fixture);
    let node = Node::start(fixture).await;
    let (_, secret) = fixture.client(|_| {}).await;
    let token = node.token(&secret).await;
    (node, credentials, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_is_not_used_after_five_seconds_without_the_access_version() {
    let mut fixture = Fixture::new().await;
    let (node, credentials, token) = caching_node(&mut fixture).await;
    let (authenticator, presented) = (&node.authenticator, PresentedCredential::new(&token));
    authenticator.refresh().await.unwrap();
    authenticator.authenticate(&presented).await.unwrap();
    credentials
        .fail_access_version
        .store(true, Ordering::SeqCst);
    fixture.clock.forward(Duration::from_millis(4_999));
    assert!(authenticator.refresh().await.is_err());
    assert!(authenticator.authenticate_cached(&presented).is_some());
    fixture.clock.forward(Duration::from_millis(1));
    assert!(authenticator.refresh().await.is_err());
    assert!(authenticator.authenticate_cached(&presented).is_none());
    // The store itself is still read. Its results are cached again once its version can be read.
    authenticator.authenticate(&presented).await.unwrap();
    assert!(authenticator.authenticate_cached(&presented).is_none());
    credentials
        .fail_access_version
        .store(false, Ordering::SeqCst);
    authenticator.refresh().await.unwrap();
    assert!(authenticator.authenticate_cached(&presented).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_is_disabled_after_five_seconds_even_if_the_time_of_day_is_set_back() {
    let mut fixture = Fixture::new().await;
    let (node, credentials, token) = caching_node(&mut fixture).await;
    let (authenticator, presented) = (&node.authenticator, PresentedCredential::new(&token));
    authenticator.refresh().await.unwrap();
    authenticator.authenticate(&presented).await.unwrap();
    credentials
        .fail_access_version
        .store(true, Ordering::SeqCst);
    fixture.clock.run(Duration::from_secs(5));
    assert!(authenticator.refresh().await.is_err());
    assert!(authenticator.authenticate_cached(&presented).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_is_not_used_before_the_first_poll() {
    let mut fixture = Fixture::new().await;
    let (node, _, token) = caching_node(&mut fixture).await;
    let presented = PresentedCredential::new(&token);
    node.authenticator.authenticate(&presented).await.unwrap();
    assert!(node.authenticator.authenticate_cached(&presented).is_none());
}

/// On one thread, so that the signals of a burst are published before the first is received.
#[tokio::test]
async fn the_access_version_is_read_once_for_own_changes_and_for_bursts() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let node = Node::start(&fixture).await;
    let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let mut reports = bus.subscribe(Box::new(|signal| *signal == Signal::AccessChanged));
    let stop = CancellationToken::new();
    let exchanging = Arc::clone(&node.authenticator).exchange_changes(Arc::clone(&bus), stop);
    TaskTracker::new().spawn(exchanging);
    let reads = || credentials.version_reads.load(Ordering::SeqCst);
    tokio::task::yield_now().await;
    for _ in 0..10 {
        bus.publish(Signal::AccessChanged);
        reports.next().await.unwrap();
    }
    until(|| async { reads() > 0 }).await;
    for _ in 0..20 {
        node.authenticator.refresh_after_change().await;
        reports.next().await.unwrap();
    }
    assert_eq!(reads(), 1 + 20);
}
