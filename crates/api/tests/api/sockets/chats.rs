//! Chat over a socket: the same as over HTTP, followed by the events of the conversation.

use serde_json::{Value, json};

use super::client::{SocketClient, types_and_channels};
use crate::{
    api_server::{ApiServer, id_of},
    engines::{contents, scripted_agent},
};

#[tokio::test]
async fn the_reply_contains_the_turn_and_its_events_follow() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let chat =
        json!({"agentId": agent, "message": "Hello", "userId": "ada", "metadata": {"a": "b"}});
    let result = socket.expect_success("chat", chat).await;
    let turn = &result["turn"];
    assert_eq!(
        (&turn["agentId"], &turn["input"]),
        (&json!(agent), &json!("Hello"))
    );
    assert_eq!(turn["metadata"], json!({"a": "b"}));
    assert_eq!(result["replayed"], Value::Null);
    let events = socket.events_to("turn.completed").await;
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["conversation.created", "turn.started", "turn.completed"]
    );
    let completed = events.last().unwrap();
    assert_eq!(completed["turnId"], turn["id"]);
    let read = api
        .reader()
        .get(&format!("/api/turns/{}", turn["id"].as_str().unwrap()))
        .await
        .ok();
    assert_eq!(
        completed["data"]["message"]["content"],
        read["reply"]["content"]
    );
    // No event follows the end.
    let path = format!(
        "/api/conversations/{}",
        turn["conversationId"].as_str().unwrap()
    );
    api.writer()
        .patch(&path, json!({"title": "One"}))
        .await
        .ok();
    let mut all = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    api.writer()
        .patch(&path, json!({"title": "Two"}))
        .await
        .ok();
    all.event().await;
    assert_eq!(socket.remaining().await, Vec::<Value>::new());
    api.stop().await;
}

#[tokio::test]
async fn events_of_a_chat_have_the_channel_of_its_conversation() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &["tenant"]).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    let result = socket.expect_success("chat", chat).await;
    let channel = format!(
        "conversation:{}",
        result["turn"]["conversationId"].as_str().unwrap()
    );
    // Events before the reply belong only to the channel of the tenant.
    let mut received: [Vec<Value>; 2] = Default::default();
    while received
        .iter()
        .any(|it| it.last() != Some(&json!("turn.completed")))
    {
        let frame = socket.next_of_type("event").await;
        let channels = frame["channels"].as_array().unwrap();
        for (name, received) in ["tenant", &channel].into_iter().zip(&mut received) {
            if channels.contains(&json!(name)) {
                received.push(frame["event"]["type"].clone());
            }
        }
    }
    let expected = ["conversation.created", "turn.started", "turn.completed"];
    assert_eq!(received, [expected, expected]);
    api.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_is_shared_by_socket_and_http() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let chat = json!({"agentId": agent, "message": "Hello", "idempotencyKey": "once"});
    let first = socket.expect_success("chat", chat.clone()).await;
    socket.events_to("turn.completed").await;
    let again = socket.expect_success("chat", chat).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["turn"]["id"], first["turn"]["id"]);
    assert_eq!(again["turn"]["status"], "completed");
    let request = api
        .writer()
        .request("POST", "/api/chat")
        .header("Idempotency-Key", "once");
    let response = request
        .json(&json!({"agentId": agent, "message": "Hello"}))
        .send()
        .await;
    assert_eq!(response.header("idempotency-replayed"), "true");
    assert_eq!(response.ok()["turnId"], first["turn"]["id"]);
    let other = json!({"agentId": agent, "message": "Bye", "idempotencyKey": "once"});
    let problem = socket.expect_problem("chat", other).await;
    assert_eq!(problem["code"], "idempotency_key_reused");
    // No events of an ended turn follow.
    assert_eq!(
        types_and_channels(&socket.remaining().await),
        Vec::<String>::new()
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_sends_live_data_and_can_be_cancelled() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let result = socket
        .expect_success("chat", json!({"agentId": agent, "message": "Tell me all"}))
        .await;
    let turn = result["turn"]["id"].clone();
    assert_eq!(result["turn"]["status"], "in_progress");
    let call = script.next_call().await;
    let started = socket.events_to("turn.started").await;
    assert_eq!(started.last().unwrap()["turnId"], turn);
    call.send_text("Once upon ").await;
    let delta = socket.next_of_type("live").await["event"].clone();
    assert_eq!(delta["type"], "reply.delta");
    assert_eq!(
        (&delta["from"], &delta["to"], &delta["text"]),
        (&json!(0), &json!(10), &json!("Once upon "))
    );
    let result = socket
        .expect_success("cancel", json!({"turnId": turn}))
        .await;
    assert_eq!(result["turn"]["status"], "cancelled");
    call.wait_until_stopped().await;
    let ended = socket.event().await;
    assert_eq!(
        (&ended["type"], &ended["turnId"]),
        (&json!("turn.cancelled"), &turn)
    );
    let again = socket
        .expect_success("cancel", json!({"turnId": turn}))
        .await;
    assert_eq!(again, result);
    let conversation = result["turn"]["conversationId"].as_str().unwrap();
    assert_eq!(
        contents(&api, conversation).await,
        ["Tell me all", "Once upon "]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_in_a_busy_conversation_is_queued_or_rejected() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let chat = |message: &str, on_busy: &str| json!({"agentId": agent, "conversationId": conversation, "message": message, "onBusy": on_busy});
    socket.expect_success("chat", chat("one", "queue")).await;
    let first = script.next_call().await;
    let busy = socket.expect_problem("chat", chat("two", "reject")).await;
    assert_eq!(busy["code"], "conversation_busy");
    let waiting = socket.expect_success("chat", chat("two", "queue")).await;
    assert_eq!(waiting["turn"]["status"], "queued");
    first.answer("One.").await;
    script.next_call().await.answer("Two.").await;
    let mut kinds = Vec::new();
    while kinds
        .iter()
        .filter(|kind| *kind == "turn.completed")
        .count()
        < 2
    {
        let frame = socket.next().await;
        if frame["type"] == "event" {
            kinds.push(frame["event"]["type"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(
        kinds,
        [
            "turn.started",
            "turn.queued",
            "turn.completed",
            "turn.started",
            "turn.completed"
        ]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_continues_after_its_socket_disconnects() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let result = socket
        .expect_success("chat", json!({"agentId": agent, "message": "Hello"}))
        .await;
    let call = script.next_call().await;
    drop(socket);
    let mut other = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    call.answer("Hi!").await;
    let completed = other.events_to("turn.completed").await.pop().unwrap();
    assert_eq!(completed["turnId"], result["turn"]["id"]);
    assert_eq!(completed["data"]["message"]["content"], "Hi!");
    api.stop().await;
}
