//! Sockets while the store is unavailable.

use std::{sync::Arc, time::Instant};

use serde_json::json;

use super::client::{SocketClient, Upgrade};
use crate::{
    api_server::ApiServerBuilder,
    storage_probe::{InjectedFault, StorageProbe},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_credential_closes_with_back_off() {
    let probe = Arc::new(StorageProbe::default());
    let seen = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |it| seen.wrap_storage(it))
        .start()
        .await;
    let caller = api.caller_with_key(|_| {}).await;
    let mut socket = Upgrade::new(&api).open().await;
    probe.inject("credentials.find", InjectedFault::Unavailable);
    let members = json!({"channels": [], "token": caller.key()});
    let problem = socket.expect_problem("connect", members).await;
    assert_eq!(problem["code"], "store_unavailable");
    assert_eq!(problem["retryAfter"], 1);
    let ended = socket.wait_for_end().await;
    assert_eq!(ended.code, 4100);
    let wait = ended.goodbye.unwrap()["reconnectAfterMs"].as_u64().unwrap();
    assert!((1_000..=5_000).contains(&wait), "{wait}");
    probe.clear_faults();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_failure_fails_the_command_and_keeps_the_socket() {
    let probe = Arc::new(StorageProbe::default());
    let seen = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |it| seen.wrap_storage(it))
        .start()
        .await;
    let agent = api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &["tenant"]).await;
    let chat = json!({"agentId": agent, "message": "Hello", "idempotencyKey": "once"});
    probe.inject("turns.record_completed_turn", InjectedFault::Unavailable);
    let problem = socket.expect_problem("chat", chat.clone()).await;
    assert_eq!(
        (&problem["code"], &problem["status"]),
        (&json!("store_unavailable"), &json!(503))
    );
    assert_eq!(problem["retryable"], true);
    probe.clear_faults();
    socket.expect_success("chat", chat).await;
    socket.events_to("turn.completed").await;
    drop(socket);
    api.stop().await;
}

/// A replay page whose read failed is read again: no event is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_waits_for_the_store() {
    let probe = Arc::new(StorageProbe::default());
    let seen = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |it| seen.wrap_storage(it))
        .start()
        .await;
    for _ in 0..3 {
        api.agent_id().await;
    }
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    probe.inject("events.page", InjectedFault::Unavailable);
    let since = json!({"channel": "tenant", "since": 0});
    probe.calls();
    socket.expect_success("subscribe", since).await;
    let began = Instant::now();
    while !probe.calls().contains(&"events.page") {
        assert!(began.elapsed().as_secs() < 20, "nothing is read");
        tokio::task::yield_now().await;
    }
    probe.clear_faults();
    for seq in 1..=3 {
        assert_eq!(socket.event().await["seq"], seq);
    }
    socket.next_of_type("caughtUp").await;
    drop(socket);
    api.stop().await;
}

/// A permanently unreadable event closes the socket before later events are sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_corrupt_log_closes_the_socket() {
    let probe = Arc::new(StorageProbe::default());
    let seen = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |it| seen.wrap_storage(it))
        .start()
        .await;
    api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    probe.inject("events.page", InjectedFault::Corrupt);
    let since = json!({"channel": "tenant", "since": 0});
    socket.expect_success("subscribe", since).await;
    let ended = socket.wait_for_end().await;
    assert_eq!(ended.code, 4100);
    assert!(ended.goodbye.unwrap()["reconnectAfterMs"].is_u64());
    probe.clear_faults();
    api.stop().await;
}
