//! Sockets while the store is away.

use std::{sync::Arc, time::Instant};

use serde_json::json;

use super::client::{Socket, Upgrade};
use crate::{
    harness::Plan,
    probe::{Misfortune, Probe},
};

#[tokio::test(flavor = "multi_thread")]
async fn whoever_cannot_be_looked_up_is_asked_to_come_back_later() {
    let probe = Arc::new(Probe::default());
    let seen = Arc::clone(&probe);
    let api = Plan::default().over(move |it| seen.over(it)).start().await;
    let caller = api.holder_with(|_| {}).await;
    let mut socket = Upgrade::of(&api).open().await;
    probe.make("credentials.find", Misfortune::Away);
    let members = json!({"channels": [], "token": caller.key()});
    let problem = socket.refused("connect", members).await;
    assert_eq!(problem["code"], "store_unavailable");
    assert_eq!(problem["retryAfter"], 1);
    let ended = socket.ended().await;
    assert_eq!(ended.code, 4100);
    let wait = ended.goodbye.unwrap()["reconnectAfterMs"].as_u64().unwrap();
    assert!((1_000..=5_000).contains(&wait), "{wait}");
    probe.heal();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_the_store_fails_is_answered_and_the_socket_stays() {
    let probe = Arc::new(Probe::default());
    let seen = Arc::clone(&probe);
    let api = Plan::default().over(move |it| seen.over(it)).start().await;
    let agent = api.agent_id().await;
    let mut socket = Socket::connected(&api, &api.writer(), &["tenant"]).await;
    let chat = json!({"agentId": agent, "message": "Hello", "idempotencyKey": "once"});
    probe.make("turns.record_exchange", Misfortune::Away);
    let problem = socket.refused("chat", chat.clone()).await;
    assert_eq!(
        (&problem["code"], &problem["status"]),
        (&json!("store_unavailable"), &json!(503))
    );
    assert_eq!(problem["retryable"], true);
    probe.heal();
    socket.carried_out("chat", chat).await;
    socket.events_to("turn.completed").await;
    drop(socket);
    api.stop().await;
}

/// A page of the past that cannot be read is read again: nothing is left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_waits_for_the_store() {
    let probe = Arc::new(Probe::default());
    let seen = Arc::clone(&probe);
    let api = Plan::default().over(move |it| seen.over(it)).start().await;
    for _ in 0..3 {
        api.agent_id().await;
    }
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    probe.make("events.page", Misfortune::Away);
    let since = json!({"channel": "tenant", "since": 0});
    probe.calls();
    socket.carried_out("subscribe", since).await;
    let began = Instant::now();
    while !probe.calls().contains(&"events.page") {
        assert!(began.elapsed().as_secs() < 20, "nothing is read");
        tokio::task::yield_now().await;
    }
    probe.heal();
    for seq in 1..=3 {
        assert_eq!(socket.event().await["seq"], seq);
    }
    socket.next_of("caughtUp").await;
    drop(socket);
    api.stop().await;
}

/// What can never be read ends the socket, before it tells what comes behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_corrupt_ends_the_socket() {
    let probe = Arc::new(Probe::default());
    let seen = Arc::clone(&probe);
    let api = Plan::default().over(move |it| seen.over(it)).start().await;
    api.agent_id().await;
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    probe.make("events.page", Misfortune::Corrupt);
    let since = json!({"channel": "tenant", "since": 0});
    socket.carried_out("subscribe", since).await;
    let ended = socket.ended().await;
    assert_eq!(ended.code, 4100);
    assert!(ended.goodbye.unwrap()["reconnectAfterMs"].is_u64());
    probe.heal();
    api.stop().await;
}
