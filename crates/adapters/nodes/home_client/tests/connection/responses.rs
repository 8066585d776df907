//! Responses that are late, or that no node of the home region has written.

use std::time::{Duration, Instant};

use futures::future::join_all;
use ports::HomeError;

use crate::{
    log::Log,
    peer::{Client, Peer, Reaction, STREAMS},
};

#[tokio::test]
async fn a_gateway_error_of_a_proxy_leaves_the_outcome_open() {
    let peer = Peer::start(&[Reaction::BadGateway; 2]).await;
    let client = Client::of(peer.address);
    let lost = client.write(false).await;
    assert!(matches!(lost, Err(HomeError::Lost(_))));
    assert_eq!(peer.received(), 1);
    let repeated = client.write(true).await.expect("a response");
    assert_eq!(repeated, 200);
    assert_eq!(peer.received(), 3);
}

#[tokio::test]
async fn a_proxy_without_nodes_is_an_outage() {
    let log = Log::default();
    let _capture = log.capture();
    let peer = Peer::start(&[]).await;
    let client = Client::of(peer.address);
    client.write(false).await.expect("a response");
    peer.lose_nodes();
    let mut results = Vec::new();
    for _ in 0..50 {
        results.push(client.write(false).await);
    }
    assert!(matches!(results[0], Err(HomeError::Lost(_))));
    let last = results.last().expect("results");
    assert!(matches!(last, Err(HomeError::Unreachable(_))), "{last:?}");
    let warnings = log.lines("WARN");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("status 502"), "{warnings:?}");
}

#[tokio::test]
async fn a_region_that_home_rejects_is_logged_once() {
    let log = Log::default();
    let _capture = log.capture();
    let peer = Peer::start(&[Reaction::Reject; 3]).await;
    let client = Client::of(peer.address);
    for _ in 0..3 {
        let rejected = client.write(true).await;
        assert!(matches!(rejected, Err(HomeError::Unreachable(_))));
    }
    assert_eq!(peer.received(), 3);
    let errors = log.lines("ERROR");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].contains("REGION__KEY"), "{errors:?}");
}

#[tokio::test]
async fn only_requests_of_the_node_itself_have_a_time_limit() {
    let peer = Peer::start(&[Reaction::Ignore; 2]).await;
    let client = Client::of(peer.address);
    let mut chat = Box::pin(client.write(false));
    let began = Instant::now();
    let late = tokio::select! {
        late = client.send_own() => late,
        _ = &mut chat => panic!("the response to a client has no time limit"),
    };
    assert!(matches!(late, Err(HomeError::Lost(_))));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    // The connection still serves others.
    client.send_own().await.expect("a response");
}

#[tokio::test]
async fn requests_beyond_the_streams_of_the_other_end_do_not_wait_long() {
    let peer = Peer::start(&[Reaction::Begin; STREAMS]).await;
    let client = Client::of(peer.address);
    let open = join_all((0..STREAMS).map(|_| client.begin_write(false))).await;
    assert!(open.iter().all(Result::is_ok));
    let began = Instant::now();
    let refused = client.write(false).await;
    assert!(matches!(refused, Err(HomeError::Unreachable(_))));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    client.send_own().await.expect("a response");
    drop(open);
    client.write(false).await.expect("a response");
}
