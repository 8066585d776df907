//! Turns when one of two nodes drains.

use std::{net::SocketAddr, time::Instant};

use serde_json::json;
use tokio::net::TcpStream;
use tokio_util::task::TaskTracker;

use super::pair::{Node, NodePair, SOON};
use crate::{engines::contents, sse_client::EventStream};

/// Waits until new requests are rejected: from then on the node starts no queued turns.
async fn wait_until_draining(address: SocketAddr) {
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_turns_of_a_draining_node_run_on_the_other() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).begin();
    let call = pair.a.script.next_call().await;
    let second = pair.a.chat(&pair.command(&id, "two")).begin();
    pair.wait_until_queued(1).await;
    let mut third = pair.b.stream_chat(pair.command(&id, "three")).await;
    let queued = third.next_of_type("turn.queued").await;
    let later = pair.start_turn(&pair.a, &id, "four").await;

    let NodePair { mut a, mut b, .. } = pair;
    let address = a.api.address;
    let stopping = TaskTracker::new().spawn(a.api.stop());
    wait_until_draining(address).await;
    call.answer("One.").await;
    let first = first.await.expect("an answer");
    assert_eq!(first.ok()["message"], "One.");
    // Queued turns do not run on a draining node, and their callers wait there for the other.
    let call = b.script.next_call().await;
    call.answer("Two.").await;
    let second = second.await.expect("an answer");
    assert_eq!(second.ok()["message"], "Two.");
    stopping.await.expect("an end in order");
    a.script.assert_no_more_calls();

    let call = b.script.next_call().await;
    assert_eq!(queued["turnId"], call.turn());
    call.answer("Three.").await;
    let events = third.remaining().await;
    assert_eq!(events.last().expect("an end").data["message"], "Three.");
    let call = b.script.next_call().await;
    assert_eq!(call.turn(), later);
    call.answer("Four.").await;
    assert_eq!(
        b.turn_after("in_progress", &later).await["status"],
        "completed"
    );
    assert_eq!(
        contents(&b.api, &id).await,
        [
            "one", "One.", "two", "Two.", "three", "Three.", "four", "Four."
        ]
    );
    b.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_of_another_node_s_turn_are_notified_of_its_drain_in_time() {
    let mut pair = NodePair::start().await;
    let command = json!({"agentId": pair.agent, "message": "Hello"});
    let chat = |node: &Node, key| node.chat(&command).header("Idempotency-Key", key);
    let mut followed = Vec::new();
    for key in ["spoken", "never"] {
        let begun = chat(&pair.b, key).header("Prefer", "respond-async").send();
        assert_eq!(begun.await.status, 202);
        let call = pair.b.script.next_call().await;
        let stream = chat(&pair.a, key).header("Accept", "text/event-stream");
        let mut stream = EventStream::open(stream).await;
        let started = stream.next_of_type("turn.started").await;
        assert_eq!(started["turnId"], call.turn());
        followed.push((call, stream));
    }
    let NodePair { a, b, .. } = pair;
    let address = a.api.address;
    let stopping = TaskTracker::new().spawn(a.api.stop());
    wait_until_draining(address).await;
    let (never, mut endless) = followed.pop().expect("two of them");
    let (spoken, mut stream) = followed.pop().expect("two of them");
    spoken.answer("In time.").await;
    let ended = Instant::now();
    let events = stream.remaining().await;
    assert_eq!(events.last().expect("an end").data["message"], "In time.");
    assert!(ended.elapsed() < SOON, "{:?}", ended.elapsed());
    // The turn goes on elsewhere: the stream has no end.
    assert_eq!(endless.next().await, None);
    stopping.await.expect("an end in order");
    // The turn is not affected.
    let turn = never.turn();
    never.answer("Later.").await;
    assert_eq!(
        b.turn_after("in_progress", &turn).await["status"],
        "completed"
    );
    b.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_turn_of_another_node_survives_its_followers() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let first = pair.b.chat(&pair.command(&id, "one")).begin();
    let call = pair.b.script.next_call().await;
    let command = pair.command(&id, "two");
    let chat = |node: &Node| node.chat(&command).header("Idempotency-Key", "two");
    let accepted = chat(&pair.b).header("Prefer", "respond-async").send().await;
    assert_eq!(accepted.status, 202);
    let stream = chat(&pair.a).header("Accept", "text/event-stream");
    let mut stream = EventStream::open(stream).await;
    let queued = stream.next_of_type("turn.queued").await;

    let NodePair { a, mut b, .. } = pair;
    a.api.stop().await;
    assert_eq!(stream.next().await, None);
    call.answer("One.").await;
    first.await.expect("an answer").ok();
    let call = b.script.next_call().await;
    let turn = call.turn();
    assert_eq!(queued["turnId"], turn);
    call.answer("Two.").await;
    let turn = b.turn_after("in_progress", &turn).await;
    assert_eq!(turn["status"], "completed");
    b.api.stop().await;
}
