//! The limits on what a client may send.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::client::SocketClient;
use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    storage_probe::{InjectedFault, StorageProbe},
};

#[tokio::test]
async fn commands_are_limited_to_20_a_second_with_bursts_of_40() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    let mut ids = Vec::new();
    for _ in 0..60 {
        ids.push(socket.send_command("ping", json!({})).await);
    }
    let mut rejected = Vec::new();
    for id in ids {
        let reply = socket.reply(id).await;
        if reply["ok"] == false {
            rejected.push(reply["error"].clone());
        }
    }
    // If the machine stalls, a few more are accepted.
    assert!((1..=21).contains(&rejected.len()), "{}", rejected.len());
    for problem in rejected {
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&json!("rate_limited"), &json!(429))
        );
        assert_eq!(problem["violatedPolicies"], json!(["commands"]));
        assert_eq!(problem["retryAfter"], 1);
    }
    api.stop().await;
}

#[tokio::test]
async fn a_client_that_ignores_rejections_is_disconnected() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    for _ in 0..400 {
        socket
            .send_ignoring_errors(r#"{"id": 1, "type": "ping"}"#)
            .await;
    }
    let ended = socket.wait_for_end().await;
    assert_eq!(ended.code, 4101);
    let wait = ended.goodbye.unwrap()["reconnectAfterMs"].as_u64().unwrap();
    assert!((1_000..=5_000).contains(&wait), "{wait}");
    api.stop().await;
}

#[tokio::test]
async fn accepted_commands_are_answered_before_the_close() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let typing = json!({"conversationId": conversation, "typing": true}).to_string();
    let members = &typing[1..typing.len() - 1];
    for id in 1_000..1_400 {
        let frame = format!(r#"{{"id": {id}, "type": "typing", {members}}}"#);
        socket.send_ignoring_errors(&frame).await;
    }
    assert_eq!(socket.wait_for_end().await.code, 4101);
    let mut answered = Vec::new();
    while let Some(frame) = socket.take_kept_frame() {
        answered.push(frame["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    let expected: Vec<u64> = (1_000..).take(answered.len()).collect();
    assert_eq!(answered, expected);
    // At least 39 accepted ones, and 100 rejected ones.
    assert!(answered.len() >= 139, "{}", answered.len());
    api.stop().await;
}

/// A store with slow chats, and a socket that has started one.
async fn with_a_slow_chat() -> (ApiServer, Arc<StorageProbe>, SocketClient, Value, u64) {
    let probe = Arc::new(StorageProbe::default());
    let seen = Arc::clone(&probe);
    let builder = ApiServerBuilder::default().wrap_storage(move |it| seen.wrap_storage(it));
    let builder = builder.setting("LIMITS__CHAT__BURST", "1000");
    let api = builder
        .setting("LIMITS__REQUESTS__BURST", "10000")
        .start()
        .await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    probe.inject("turns.record_completed_turn", InjectedFault::Slow);
    let chat = json!({"agentId": agent, "message": "Hello", "conversationId": conversation});
    let id = socket.send_command("chat", chat.clone()).await;
    probe.wait_for_call("turns.record_completed_turn").await;
    (api, probe, socket, chat, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_chats_of_the_same_conversation_wait_for_a_chat() {
    let (api, probe, mut socket, chat, first) = with_a_slow_chat().await;
    let second = socket.send_command("chat", chat.clone()).await;
    let conversation = chat["conversationId"].as_str().unwrap();
    for (command, members) in [
        ("ping", json!({})),
        ("refresh", json!({"token": api.writer().key()})),
        ("subscribe", json!({"channel": "tenant"})),
        (
            "subscribe",
            json!({"channel": format!("conversation:{conversation}")}),
        ),
        ("unsubscribe", json!({"channel": "tenant"})),
        (
            "typing",
            json!({"conversationId": conversation, "typing": true}),
        ),
    ] {
        socket.expect_success(command, members).await;
    }
    let nobodys = json!({"turnId": conversation});
    let problem = socket.expect_problem("cancel", nobodys).await;
    assert_eq!(problem["code"], "turn_not_found");
    probe.clear_faults();
    for id in [first, second] {
        let reply = socket.next_reply_data().await;
        assert_eq!((&reply["id"], &reply["ok"]), (&json!(id), &json!(true)));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn running_commands_are_limited_and_short_ones_still_accepted() {
    let (api, probe, mut socket, chat, first) = with_a_slow_chat().await;
    let mut chats = vec![first];
    while chats.len() < 40 {
        // At the permitted rate of commands.
        tokio::time::sleep(Duration::from_millis(60)).await;
        chats.push(socket.send_command("chat", chat.clone()).await);
    }
    let problem = socket.expect_problem("chat", chat).await;
    assert_eq!(problem["code"], "rate_limited");
    assert_eq!(problem["violatedPolicies"], json!(["commands"]));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("40 commands"), "{detail}");
    let key = json!({"token": api.writer().key()});
    socket.expect_success("refresh", key).await;
    socket.expect_success("ping", json!({})).await;
    probe.clear_faults();
    for id in chats {
        assert_eq!(socket.reply(id).await["ok"], true);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_commands_wait_once_for_an_unavailable_store() {
    let (api, probe, mut socket, chat, first) = with_a_slow_chat().await;
    let mut ids = vec![first];
    for _ in 0..9 {
        ids.push(socket.send_command("chat", chat.clone()).await);
    }
    socket.expect_success("ping", json!({})).await;
    probe.calls();
    probe.inject("turns.record_completed_turn", InjectedFault::Unavailable);
    probe.release_waiting_calls();
    for id in ids {
        assert_eq!(socket.reply(id).await["error"]["code"], "store_unavailable");
    }
    assert_eq!(probe.calls(), Vec::<&str>::new());
    probe.clear_faults();
    socket.expect_success("chat", chat).await;
    api.stop().await;
}

#[tokio::test]
async fn commands_count_like_requests() {
    let builder = ApiServerBuilder::default()
        .setting("LIMITS__REQUESTS__PER_MINUTE", "1")
        .setting("LIMITS__REQUESTS__BURST", "5");
    let api = builder.start().await;
    let caller = api.caller_with_key(|_| {}).await;
    // The upgrade, and connecting.
    let mut socket = SocketClient::connected(&api, &caller, &[]).await;
    for _ in 0..3 {
        socket.expect_success("ping", json!({})).await;
    }
    let problem = socket.expect_problem("ping", json!({})).await;
    assert_eq!(problem["code"], "rate_limited");
    assert_eq!(problem["violatedPolicies"], json!(["requests"]));
    assert!(problem["retryAfter"].as_u64().unwrap() > 1, "{problem}");
    let response = caller.get("/api/agents").await;
    response.problem(domain::ProblemCode::RateLimited);
    api.stop().await;
}

#[tokio::test]
async fn chats_count_as_chats() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let caller = api.caller_with_key(|key| {
        key.limits.chat_per_minute = Some(1);
        key.limits.chat_burst = Some(1);
    });
    let mut socket = SocketClient::connected(&api, &caller.await, &[]).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    socket.expect_success("chat", chat.clone()).await;
    let problem = socket.expect_problem("chat", chat).await;
    assert_eq!(problem["violatedPolicies"], json!(["chat"]));
    api.stop().await;
}
