//! Signals of the home region at a far node.

use std::time::Duration;

use serde_json::json;

use super::fixture::Regions;
use crate::{
    api_server::{ApiServerBuilder, id_of},
    sockets::client::SocketClient,
    sse_client::EventStream,
};

/// Less than the second after which a node reads the store without a signal.
const BEFORE_NEXT_READ: Duration = Duration::from_millis(800);

#[tokio::test(flavor = "multi_thread")]
async fn a_far_socket_receives_events_and_live_replies_of_home() {
    receive_live_reply(Regions::start().await, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_many_conversations_receive_live_replies_whatever_clients_may_send() {
    let small = |home: ApiServerBuilder| home.setting("LIMITS__SIZES__BODY_BYTES", "1024");
    receive_live_reply(Regions::start_both(small, |far| far).await, 40).await;
}

/// Receives the live reply of a conversation by a socket that follows `others` besides.
async fn receive_live_reply(mut regions: Regions, others: usize) {
    let home = regions.home.writer();
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&regions.home.agent(draft).await);
    let draft = json!({"agentId": agent});
    let conversation = id_of(&regions.home.conversation(draft).await);
    let mut channels = vec![format!("conversation:{conversation}")];
    for _ in 0..others {
        let other = regions.home.conversation(json!({"agentId": agent})).await;
        channels.push(format!("conversation:{}", id_of(&other)));
    }
    let channels: Vec<_> = channels.iter().map(String::as_str).collect();
    let reader = regions.far.reader();
    let mut socket = SocketClient::connected(&regions.far, &reader, &channels).await;
    let message = json!({"agentId": agent, "conversationId": conversation, "message": "one"});
    let turn = home.request("POST", "/api/chat").json(&message);
    let turn = turn.header("Prefer", "respond-async").send().await;
    assert_eq!(turn.status, 202, "{}", turn.text());
    let call = regions.script.next_call().await;
    let started = socket.next_of_type("event").await["event"].clone();
    assert_eq!(started["type"], "turn.started");
    call.send_text("Well, ").await;
    let mut text = String::new();
    while text.len() < "Well, ".len() {
        let event = socket.next_of_type("live").await["event"].clone();
        text.push_str(event["text"].as_str().expect("text"));
    }
    assert_eq!(text, "Well, ");
    call.answer("yes.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_home_reaches_a_far_stream_before_the_log_is_looked_at() {
    let regions = Regions::start().await;
    let stream = regions.far.reader().request("GET", "/api/events");
    let mut stream = EventStream::open(stream.header("Accept", "text/event-stream")).await;
    for number in 0..5 {
        regions
            .home
            .agent(json!({"name": number.to_string()}))
            .await;
        let next = tokio::time::timeout(BEFORE_NEXT_READ, stream.next_of_type("agent.created"));
        next.await.expect("an event by a signal");
    }
}
