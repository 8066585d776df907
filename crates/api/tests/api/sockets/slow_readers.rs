//! The limits on how slowly a client may read.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    client::{SocketClient, Upgrade},
    slow_client::{self, large_draft},
};
use crate::engines::scripted_agent;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_disconnected_and_delays_no_others() {
    let api = slow_client::server(Duration::from_secs(1)).await;
    let alone = api
        .caller_with_key(|key| key.limits.streams = Some(1))
        .await;
    let mut slow = slow_client::connect(&api, &alone).await;
    let mut quick = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    let draft = large_draft();
    let (patience, mut longest, mut last) = (Instant::now(), Duration::ZERO, 0);
    // Its slot is free after the disconnect.
    while Upgrade::new(&api)
        .with_caller(&alone)
        .try_open()
        .await
        .is_err()
    {
        assert!(patience.elapsed().as_secs() < 60, "it is kept");
        let made = api.agent(draft.clone()).await;
        let began = Instant::now();
        let event = quick.event().await;
        longest = longest.max(began.elapsed());
        assert_eq!(event["agentId"], made["id"]);
        last = event["seq"].as_i64().unwrap();
    }
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    // The remaining frames are whole and in order, and end with the reason if it reads soon enough.
    let ended = slow.wait_for_end_or_disconnect().await;
    assert!(ended.is_none_or(|ended| ended.code == 4201));
    let mut next = 1;
    while let Some(frame) = slow.take_kept_frame() {
        assert_eq!(frame["event"]["seq"], next, "{}", frame["type"]);
        next += 1;
    }
    assert!(next <= last, "it received every event");
    // The client misses no data.
    let mut back = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let connected = back.connect(json!({"channels": ["tenant"], "since": next - 1}));
    assert_eq!(connected.await["channels"][0]["recovered"], true);
    while next <= last {
        assert_eq!(back.event().await["seq"], next);
        next += 1;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_steady_reader_stays_connected() {
    let write = Duration::from_secs(2);
    let api = slow_client::server(write).await;
    let draft = large_draft();
    // More than the operating system buffers for a client.
    for _ in 0..120 {
        api.agent(draft.clone()).await;
    }
    let alone = api
        .caller_with_key(|key| key.limits.streams = Some(1))
        .await;
    let mut slow = Upgrade::new(&api)
        .with_caller(&alone)
        .with_small_buffers()
        .open()
        .await;
    slow.connect(json!({"channels": ["tenant"], "since": 0}))
        .await;
    let began = Instant::now();
    let mut next = 1;
    while began.elapsed() < write * 3 {
        assert_eq!(slow.event().await["seq"], next);
        next += 1;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let second = Upgrade::new(&api).with_caller(&alone).try_open().await;
    assert!(second.is_err(), "the first was closed after {next} events");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_receives_live_text_in_few_pieces() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = Upgrade::new(&api)
        .with_caller(&api.writer())
        .with_small_buffers()
        .open()
        .await;
    socket.connect(json!({"channels": ["tenant"]})).await;
    // More than the connection and the client buffer while nothing is read.
    let piece = "x".repeat(9_000);
    let mut calls = Vec::new();
    for _ in 0..8 {
        let chat = json!({"agentId": agent, "message": "Tell me all"});
        socket.send_command("chat", chat).await;
        let call = script.next_call().await;
        for _ in 0..100 {
            call.send_text(&piece).await;
        }
        calls.push(call);
    }
    let whole = 100 * piece.len();
    let mut texts: HashMap<String, usize> = HashMap::new();
    let mut pieces = 0;
    while texts.len() < calls.len() || texts.values().any(|length| *length < whole) {
        let frame = socket.next().await;
        let event = &frame["event"];
        let offset = |name: &str| usize::try_from(event[name].as_u64().expect("a place"));
        let text = texts.entry(event["turnId"].to_string());
        assert_ne!(event["type"], "reply.snapshot", "it has the beginning");
        if event["type"] == "reply.delta" {
            let text = text.or_default();
            assert_eq!(offset("from").unwrap(), *text, "a gap");
            *text = offset("to").unwrap();
            pieces += 1;
        }
    }
    assert!(pieces < 400, "{pieces} of 800 pieces arrived");
    drop(calls);
    api.stop().await;
}
