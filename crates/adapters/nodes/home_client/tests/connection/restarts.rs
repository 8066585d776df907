//! Requests that are on their way when a home node shuts down or breaks off.

use std::time::Duration;

use ports::HomeError;
use tokio::time::sleep;

use crate::peer::{Client, Peer, Reaction};

/// Sends a write to a server with these reactions. Returns whether there was a response, and the
/// number of requests that the server has received.
async fn send(is_repeatable: bool, reactions: &[Reaction]) -> (Result<u16, HomeError>, usize) {
    let peer = Peer::start(reactions).await;
    let client = Client::of(peer.address);
    let response = client.write(is_repeatable).await;
    (response, peer.received())
}

#[tokio::test]
async fn what_was_provably_not_processed_is_sent_again() {
    for unprocessed in [Reaction::GoAwayUnprocessed, Reaction::Refuse] {
        for is_repeatable in [false, true] {
            let (response, received) = send(is_repeatable, &[unprocessed; 2]).await;
            assert_eq!(response.expect("a response"), 200, "{unprocessed:?}");
            assert_eq!(received, 3, "{unprocessed:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_was_streamed_is_not_sent_again() {
    for (reaction, is_unprocessed) in [
        (Reaction::GoAwayUnprocessed, true),
        (Reaction::Refuse, true),
        (Reaction::Close, false),
        (Reaction::BadGateway, false),
    ] {
        let peer = Peer::start(&[reaction]).await;
        let client = Client::of(peer.address);
        let sent = client.upload(true).await.expect_err("no response");
        let is_unreachable = matches!(sent, HomeError::Unreachable(_));
        assert_eq!(is_unreachable, is_unprocessed, "{reaction:?}: {sent:?}");
        assert_eq!(peer.received(), 1, "{reaction:?}");
        assert_eq!(client.upload(true).await.expect("a response"), 200);
    }
}

#[tokio::test]
async fn what_is_processed_by_a_node_that_shuts_down_is_sent_once() {
    for is_repeatable in [false, true] {
        let (response, received) = send(is_repeatable, &[Reaction::GoAwayProcessed]).await;
        assert_eq!(response.expect("a response"), 200);
        assert_eq!(received, 1);
    }
}

#[tokio::test]
async fn what_may_have_been_processed_is_sent_again_once_if_it_is_repeatable() {
    let (response, received) = send(false, &[Reaction::Close]).await;
    assert!(matches!(response, Err(HomeError::Lost(_))));
    assert_eq!(received, 1);
    let (response, received) = send(true, &[Reaction::Close]).await;
    assert_eq!(response.expect("a response"), 200);
    assert_eq!(received, 2);
    let (response, received) = send(true, &[Reaction::Close; 2]).await;
    assert!(matches!(response, Err(HomeError::Lost(_))));
    assert_eq!(received, 2);
}

#[tokio::test]
async fn a_repeatable_request_waits_for_a_node_that_restarts() {
    let peer = Peer::start(&[Reaction::Stop]).await;
    let (client, address) = (Client::of(peer.address), peer.address);
    let restart = async {
        while peer.received() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(300)).await;
        Peer::start_at(address, &[]).await
    };
    let (response, peer) = tokio::join!(client.write(true), restart);
    assert_eq!(response.expect("a response"), 200);
    assert_eq!(peer.received(), 1);
}
