//! How a process hears of what another one takes back.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use application::access::PresentedCredential;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    node::{Node, basic},
    probed_credentials::ProbedCredentials,
    world::World,
};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_on_one_node_is_refused_by_another_within_a_second() {
    let world = World::new().await;
    let (here, there) = (Node::start(&world).await, Node::start(&world).await);
    let stop = CancellationToken::new();
    let watching = TaskTracker::new().spawn(Arc::clone(&there.authenticator).run(stop.clone()));
    let mut quickest = Duration::MAX;
    // A machine may hang for a second, but hardly every time.
    for _ in 0..5 {
        let (_, secret) = world.client(|_| {}).await;
        let token = here.token(&secret).await;
        let presented = PresentedCredential::new(&token);
        until(|| async {
            there.authenticator.authenticate(&presented).await.unwrap();
            there.authenticator.recognise(&presented).is_some()
        })
        .await;
        let revoked = here.server.revoke(&basic(&secret), Some(&token)).await;
        revoked.unwrap();
        let refused = until(|| async { there.authenticator.recognise(&presented).is_none() });
        quickest = quickest.min(refused.await);
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

/// Asks again and again until it is so, and answers how long that took.
async fn until<F: Future<Output = bool>>(is_so: impl Fn() -> F) -> Duration {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed().as_secs() < 30, "it is not so yet");
        tokio::task::yield_now().await;
    }
    began.elapsed()
}

/// A node that let a token in, and what it reads credentials from.
async fn remembering(world: &mut World) -> (Node, Arc<ProbedCredentials>, String) {
    let credentials = ProbedCredentials::in_front_of(world);
    let node = Node::start(world).await;
    let (_, secret) = world.client(|_| {}).await;
    let token = node.token(&secret).await;
    (node, credentials, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_remembered_is_trusted_after_five_seconds_of_not_knowing() {
    let mut world = World::new().await;
    let (node, credentials, token) = remembering(&mut world).await;
    let (authenticator, presented) = (&node.authenticator, PresentedCredential::new(&token));
    authenticator.watch().await.unwrap();
    authenticator.authenticate(&presented).await.unwrap();
    credentials.blind.store(true, Ordering::SeqCst);
    world.clock.forward(Duration::from_millis(4_999));
    assert!(authenticator.watch().await.is_err());
    assert!(authenticator.recognise(&presented).is_some());
    world.clock.forward(Duration::from_millis(1));
    assert!(authenticator.watch().await.is_err());
    assert!(authenticator.recognise(&presented).is_none());
    // The store itself is still asked, and what it says is trusted again once it can be watched.
    authenticator.authenticate(&presented).await.unwrap();
    assert!(authenticator.recognise(&presented).is_none());
    credentials.blind.store(false, Ordering::SeqCst);
    authenticator.watch().await.unwrap();
    assert!(authenticator.recognise(&presented).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn five_seconds_pass_also_when_the_time_of_day_is_set_back() {
    let mut world = World::new().await;
    let (node, credentials, token) = remembering(&mut world).await;
    let (authenticator, presented) = (&node.authenticator, PresentedCredential::new(&token));
    authenticator.watch().await.unwrap();
    authenticator.authenticate(&presented).await.unwrap();
    credentials.blind.store(true, Ordering::SeqCst);
    world.clock.run(Duration::from_secs(5));
    assert!(authenticator.watch().await.is_err());
    assert!(authenticator.recognise(&presented).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_trusted_before_the_first_look() {
    let mut world = World::new().await;
    let (node, _, token) = remembering(&mut world).await;
    let presented = PresentedCredential::new(&token);
    node.authenticator.authenticate(&presented).await.unwrap();
    assert!(node.authenticator.recognise(&presented).is_none());
}
