//! Live replies.

use serde_json::{Value, json};

use super::client::{SocketClient, Upgrade};
use crate::{
    api_server::{ApiServer, id_of},
    engines::scripted_agent,
};

/// Applies live frames and events like a client, and returns the final text.
#[derive(Default)]
struct ReplyReader {
    text: String,
    is_over: bool,
}

impl ReplyReader {
    fn read(&mut self, frame: &Value) {
        let event = &frame["event"];
        let text = event["text"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "reply.delta" => {
                assert!(!self.is_over, "{frame} behind the end");
                let (from, to) = (offset(event, "from"), offset(event, "to"));
                assert_eq!(to - from, text.len());
                assert_eq!(from, self.text.len(), "{frame} leaves a gap");
                self.text.push_str(text);
            }
            "reply.snapshot" => {
                assert!(!self.is_over, "{frame} behind the end");
                assert_eq!(offset(event, "to"), text.len());
                text.clone_into(&mut self.text);
            }
            "turn.completed" => {
                let whole = event["data"]["message"]["content"].as_str().expect("text");
                assert!(whole.starts_with(&self.text), "{whole} after {}", self.text);
                whole.clone_into(&mut self.text);
                self.is_over = true;
            }
            _ => {}
        }
    }
}

fn offset(event: &Value, name: &str) -> usize {
    let offset = event[name].as_u64().expect("a place");
    usize::try_from(offset).expect("a small number")
}

async fn begin(api: &ApiServer, agent: &str) -> String {
    let command = json!({"agentId": agent, "message": "Hello"});
    let request = api.writer().request("POST", "/api/chat");
    let response = request
        .header("Prefer", "respond-async")
        .json(&command)
        .send()
        .await;
    assert_eq!(response.status, 202, "{}", response.text());
    response.json()["conversationId"]
        .as_str()
        .expect("text")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_channel_of_a_turn_receives_its_live_text() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut sockets = Vec::new();
    for channel in [
        "tenant".to_owned(),
        format!("agent:{agent}"),
        format!("conversation:{conversation}"),
    ] {
        sockets.push(SocketClient::connected(&api, &api.reader(), &[&channel]).await);
    }
    let writer = api.writer();
    let chat = json!({"agentId": agent, "conversationId": conversation, "message": "Hello"});
    let contents = async {
        let call = script.next_call().await;
        for text in ["Grüß ", "Gott", "!"] {
            call.send_text(text).await;
        }
        call.end();
    };
    let (reply, ()) = tokio::join!(writer.post("/api/chat", chat), contents);
    reply.ok();
    for socket in &mut sockets {
        let mut reader = ReplyReader::default();
        while !reader.is_over {
            reader.read(&socket.next().await);
        }
        assert_eq!(reader.text, "Grüß Gott!");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscribe_during_a_turn_receives_a_snapshot() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = begin(&api, &agent).await;
    let call = script.next_call().await;
    call.send_text("Once upon ").await;
    let channel = format!("conversation:{conversation}");
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    socket
        .expect_success("subscribe", json!({"channel": channel}))
        .await;
    let snapshot = socket.next_of_type("live").await["event"].clone();
    assert_eq!(snapshot["type"], "reply.snapshot");
    assert_eq!(
        (&snapshot["to"], &snapshot["text"]),
        (&json!(10), &json!("Once upon "))
    );
    assert_eq!(snapshot["conversationId"], json!(conversation));
    call.send_text("a time").await;
    let delta = socket.next_of_type("live").await["event"].clone();
    assert_eq!(
        (&delta["type"], &delta["from"], &delta["text"]),
        (&json!("reply.delta"), &json!(10), &json!("a time"))
    );
    // A repeated subscribe receives it again.
    socket
        .expect_success("subscribe", json!({"channel": channel}))
        .await;
    let snapshot = socket.next_of_type("live").await["event"].clone();
    assert_eq!(
        (&snapshot["type"], &snapshot["text"]),
        (&json!("reply.snapshot"), &json!("Once upon a time"))
    );
    call.end();
    assert_eq!(socket.event().await["type"], "turn.completed");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_into_a_running_turn_ends_with_a_snapshot() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    begin(&api, &agent).await;
    let call = script.next_call().await;
    call.send_text("Once upon ").await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    socket
        .connect(json!({"channels": ["tenant"], "since": 0}))
        .await;
    let mut reader = ReplyReader::default();
    while reader.text.is_empty() {
        reader.read(&socket.next().await);
    }
    call.answer("a time.").await;
    while !reader.is_over {
        reader.read(&socket.next().await);
    }
    assert_eq!(reader.text, "Once upon a time.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_text_of_other_channels_is_not_sent() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let other = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut elsewhere =
        SocketClient::connected(&api, &api.reader(), &[&format!("conversation:{other}")]).await;
    let mut strangers = SocketClient::connected(&api, &api.other_tenant(), &["tenant"]).await;
    let only_agents = api
        .caller_with_scopes(&[domain::Scope::EventsRead, domain::Scope::AgentsRead])
        .await;
    let mut agents = SocketClient::connected(&api, &only_agents, &["tenant"]).await;
    let mut there = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    begin(&api, &agent).await;
    script.next_call().await.answer("Hi!").await;
    there
        .find(|frame| frame["event"]["type"] == "turn.completed")
        .await;
    for socket in [&mut elsewhere, &mut strangers, &mut agents] {
        assert_eq!(socket.remaining().await, Vec::<Value>::new());
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsubscribe_ends_live_data() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let conversation = begin(&api, &agent).await;
    let call = script.next_call().await;
    let channel = format!("conversation:{conversation}");
    let mut socket = SocketClient::connected(&api, &api.reader(), &[&channel]).await;
    call.send_text("Once ").await;
    socket.next_of_type("live").await;
    socket
        .expect_success("unsubscribe", json!({"channel": channel}))
        .await;
    let mut there = SocketClient::connected(&api, &api.reader(), &[&channel]).await;
    call.answer("upon a time").await;
    there
        .find(|frame| frame["event"]["type"] == "turn.completed")
        .await;
    assert_eq!(socket.remaining().await, Vec::<Value>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_chat_on_another_socket_receives_a_snapshot_and_live_data() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let chat = json!({"agentId": agent, "message": "Hello", "idempotencyKey": "once"});
    let mut first = SocketClient::connected(&api, &api.writer(), &[]).await;
    let begun = first.expect_success("chat", chat.clone()).await;
    let call = script.next_call().await;
    call.send_text("Once upon ").await;
    let mut readers = [ReplyReader::default(), ReplyReader::default()];
    while readers[0].text != "Once upon " {
        readers[0].read(&first.next().await);
    }
    let mut second = SocketClient::connected(&api, &api.writer(), &[]).await;
    for socket in [&mut first, &mut second] {
        let again = socket.expect_success("chat", chat.clone()).await;
        assert_eq!(again["replayed"], true);
        assert_eq!(again["turn"]["id"], begun["turn"]["id"]);
        assert_eq!(again["turn"]["status"], "in_progress");
    }
    let snapshot = second.next_of_type("live").await;
    assert_eq!(snapshot["event"]["type"], "reply.snapshot");
    assert_eq!(snapshot["event"]["text"], "Once upon ");
    call.answer("a time.").await;
    readers[1].read(&snapshot);
    for (socket, reader) in [first, second].iter_mut().zip(&mut readers) {
        while !reader.is_over {
            let frame = socket.next().await;
            // The first client has received everything.
            assert_ne!(frame["event"]["type"], "reply.snapshot");
            reader.read(&frame);
        }
        assert_eq!(reader.text, "Once upon a time.");
        assert_eq!(socket.remaining().await, Vec::<Value>::new());
    }
    api.stop().await;
}
