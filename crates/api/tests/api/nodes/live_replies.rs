//! Replies of one node that are read at the other while they are written.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pair::{NodePair, word};
use crate::{sockets::client::SocketClient, sse_client::EventStream};

/// Less than the second after which a node reads the store without a signal.
const BEFORE_NEXT_READ: Duration = Duration::from_millis(800);

/// Joins the text of live events up to this length.
async fn text_up_to(socket: &mut SocketClient, length: usize) -> String {
    let mut text = String::new();
    while text.len() < length {
        let event = socket.next_of_type("live").await["event"].clone();
        match event["type"].as_str() {
            Some("reply.snapshot") => text = word(&event["text"]),
            Some("reply.delta") => {
                assert_eq!(event["from"], text.len(), "{event}");
                text.push_str(&word(&event["text"]));
            }
            _ => {}
        }
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_the_other_node_receives_a_reply_while_it_is_written() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let channel = format!("conversation:{id}");
    let mut socket = SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &[&channel]).await;
    let turn = pair.start_turn(&pair.a, &id, "one").await;
    let call = pair.a.script.next_call().await;
    let started = socket.next_of_type("event").await["event"].clone();
    assert_eq!(started["type"], "turn.started");
    let mut sent = String::new();
    for piece in ["Well, ", "\u{1f469}\u{200d}\u{1f4bb} ", "yes.\n"] {
        call.send_text(piece).await;
        sent.push_str(piece);
    }
    assert_eq!(text_up_to(&mut socket, sent.len()).await, sent);
    call.use_tool("search", json!({"query": "x".repeat(20_000)}))
        .await;
    let called = socket.next_of_type("live").await["event"].clone();
    assert_eq!(called["type"], "tool.called");
    assert_eq!(called["arguments"]["query"], "x".repeat(20_000));
    let returned = socket.next_of_type("live").await["event"].clone();
    assert_eq!(returned["type"], "tool.returned");
    assert_eq!(returned["result"], "done");
    let end = "z".repeat(100_000);
    call.send_text(&end).await;
    let delta = async {
        let mut text = String::new();
        while text.len() < end.len() {
            let event = socket.next_of_type("live").await["event"].clone();
            assert_eq!(event["type"], "reply.delta");
            text.push_str(&word(&event["text"]));
        }
        text
    };
    assert_eq!(delta.await, end);
    call.end();
    let completed = socket.next_of_type("event").await["event"].clone();
    assert_eq!(completed["type"], "turn.completed");
    assert_eq!(completed["turnId"], turn);
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_joins_during_a_reply_receives_its_text_so_far() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    pair.start_turn(&pair.a, &id, "one").await;
    let call = pair.a.script.next_call().await;
    call.send_text("Well").await;
    for channel in ["tenant".to_owned(), format!("conversation:{id}")] {
        let mut socket =
            SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &[&channel]).await;
        assert_eq!(text_up_to(&mut socket, "Well".len()).await, "Well");
    }
    call.answer(", yes.").await;
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_the_other_node_follows_the_running_turn() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    pair.start_turn(&pair.a, &id, "one").await;
    let call = pair.a.script.next_call().await;
    call.send_text("Well\n").await;
    let path = format!("/api/conversations/{id}/stream");
    let mut stream = EventStream::open(pair.b.api.reader().request("GET", &path)).await;
    assert_eq!(
        stream.next_of_type("turn.started").await["conversationId"],
        id
    );
    assert_eq!(stream.next_of_type("reply.delta").await["text"], "Well\n");
    call.use_tool("search", json!({})).await;
    stream.next_of_type("tool.called").await;
    stream.next_of_type("tool.returned").await;
    let mut times = Vec::new();
    for number in 0..5 {
        let since = Instant::now();
        call.send_text(&number.to_string()).await;
        let delta = stream.next_of_type("reply.delta").await;
        assert_eq!(delta["text"], number.to_string());
        times.push(since.elapsed());
    }
    times.sort();
    assert!(times[2] < BEFORE_NEXT_READ, "{times:?}");
    call.end();
    let rest = stream.remaining().await;
    let names: Vec<_> = rest.iter().map(|event| &*event.name).collect();
    assert_eq!(names, ["turn.completed"]);
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_of_conversations_that_are_not_followed_are_not_sent() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let other = pair.conversation().await;
    let channel = format!("conversation:{other}");
    let mut socket = SocketClient::connected(&pair.b.api, &pair.b.api.reader(), &[&channel]).await;
    pair.start_turn(&pair.a, &id, "one").await;
    let call = pair.a.script.next_call().await;
    call.send_text("secret").await;
    pair.start_turn(&pair.a, &other, "two").await;
    let second = pair.a.script.next_call().await;
    second.send_text("shown").await;
    let started = socket.next_of_type("event").await["event"].clone();
    assert_eq!(started["conversationId"], other);
    let event = socket.next_of_type("live").await["event"].clone();
    assert_eq!(event["conversationId"], other);
    assert_eq!(event["text"], "shown");
    call.answer(".").await;
    second.answer(".").await;
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_on_the_other_node_keeps_the_text() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let stream = pair.a.stream_chat(pair.command(&id, "one")).await;
    let call = pair.a.script.next_call().await;
    call.send_text("Well").await;
    let since = Instant::now();
    let turn: Value = pair.b.cancel(call.request.turn_id).await.ok();
    assert_eq!(turn["status"], "cancelled");
    assert_eq!(turn["reply"]["content"], "Well", "{:?}", since.elapsed());
    drop(stream);
    pair.stop().await;
}
