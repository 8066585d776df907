//! The bus that replaces the one on the server.

use std::sync::Arc;

use dev_tools::redis_server::RedisProcess;
use futures::{FutureExt as _, StreamExt as _};
use ports::{EventBus, Signal};
use single_node::bus::{LocalBus, request_fallback};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::nodes::{Node, TIMEOUT, appended, exchange, losses, new_id, report, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_the_server_receives_from_others_through_the_fallback() {
    let fallback: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let (server, store) = (RedisProcess::start(&[]).unwrap(), new_id());
    let absent = RedisProcess::reserve(&[]).unwrap();
    let connected = Node::on(&server.url(), store).bus_with(Arc::clone(&fallback));
    wait_until(connected.connectivity()).await;
    let cut_off = Node::on(&absent.url(), store).bus_with(fallback);
    exchange(&connected, &cut_off).await;
    exchange(&cut_off, &connected).await;
    assert!(connected.connectivity()() && !cut_off.connectivity()());
    // Each bus delivers a signal of its own process once.
    let mut own = connected.subscribe(Box::new(|signal| *signal != Signal::SignalsLost));
    connected.publish(Signal::AccessChanged);
    connected.publish(Signal::NodeJoined);
    assert_eq!(own.next().await, Some(Signal::AccessChanged));
    assert_eq!(own.next().await, Some(Signal::NodeJoined));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_use_the_server_yet_receives_from_others() {
    let fallback: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let server = RedisProcess::start(&[]).unwrap();
    let connected = Node::on(&server.url(), new_id()).bus_with(Arc::clone(&fallback));
    wait_until(connected.connectivity()).await;
    let mut received = fallback.subscribe(Box::new(|signal| *signal == appended(0)));
    connected.publish(appended(0));
    assert_eq!(received.next().now_or_never(), None);
    TaskTracker::new().spawn(request_fallback(Arc::clone(&fallback)));
    exchange(&connected, &*fallback).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_that_the_server_does_not_accept_go_through_the_fallback() {
    let fallback: Arc<dyn EventBus> = Arc::new(LocalBus::new());
    let server = RedisProcess::start(&[]).unwrap();
    let bus = Node::on(&server.url(), new_id()).bus_with(Arc::clone(&fallback));
    wait_until(bus.connectivity()).await;
    let mut lost = losses(&bus);
    let is_head = |signal: &Signal| matches!(signal, Signal::LogAppended { .. });
    let mut own = bus.subscribe(Box::new(is_head));
    let mut received = fallback.subscribe(Box::new(is_head));
    server.pause().unwrap();
    bus.publish(appended(1));
    let moved = timeout(TIMEOUT, received.next()).await;
    assert_eq!(moved.expect("a signal"), Some(appended(1)));
    report(&mut lost).await;
    // Subscribers of this process receive it once.
    assert_eq!(own.next().await, Some(appended(1)));
    assert_eq!(own.next().now_or_never(), None);
    assert!(!bus.connectivity()());
    server.resume().unwrap();
}
