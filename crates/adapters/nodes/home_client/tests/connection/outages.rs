//! Times without a connection.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use ports::HomeError;

use crate::{
    log::Log,
    peer::{Client, Peer},
};

/// The time for which a request waits for a connection that is being opened, and a tolerance.
const LIMIT: Duration = Duration::from_secs(1);
/// The time of a request that does not wait.
const AT_ONCE: Duration = Duration::from_millis(100);

async fn refused(client: &Client) -> Duration {
    let began = Instant::now();
    let refused = client.write(true).await;
    assert!(matches!(refused, Err(HomeError::Unreachable(_))));
    began.elapsed()
}

/// Stops a server, and returns its address when the client has noticed.
async fn stop(peer: Peer, client: &Client) -> SocketAddr {
    let address = peer.address;
    drop(peer);
    while !matches!(client.write(false).await, Err(HomeError::Unreachable(_))) {
        tokio::task::yield_now().await;
    }
    address
}

#[tokio::test]
async fn requests_are_rejected_at_once_while_nothing_listens() {
    let peer = Peer::start(&[]).await;
    let client = Client::of(peer.address);
    client.write(false).await.expect("a response");
    let address = stop(peer, &client).await;
    for _ in 0..20 {
        let took = refused(&client).await;
        assert!(took < AT_ONCE, "{took:?}");
    }
    let _peer = Peer::start_at(address, &[]).await;
    let began = Instant::now();
    while client.write(false).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(5), "no connection");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn requests_are_rejected_at_once_while_home_is_silent() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::of(silent.local_addr().unwrap());
    assert!(refused(&client).await < LIMIT);
    for _ in 0..20 {
        let took = refused(&client).await;
        assert!(took < AT_ONCE, "{took:?}");
    }
    drop(silent);
}

#[tokio::test]
async fn an_outage_and_its_end_are_logged_once() {
    let log = Log::default();
    let _capture = log.capture();
    let peer = Peer::start(&[]).await;
    let client = Client::of(peer.address);
    client.write(false).await.expect("a response");
    assert_eq!(log.lines("WARN"), Vec::<String>::new());
    let address = stop(peer, &client).await;
    // Several attempts to connect.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        refused(&client).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let _peer = Peer::start_at(address, &[]).await;
    while client.write(false).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let warnings = log.lines("WARN");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("home region cannot be reached"));
    assert_eq!(log.lines("ERROR"), Vec::<String>::new());
    assert_eq!(log.lines("home region can be reached again").len(), 1);
}
