//! Sockets and `/asyncapi.json` agree: every documented message is sent, and no others.

use std::{collections::BTreeSet, sync::LazyLock, time::Duration};

use kit::body::Schemas;
use parking_lot::Mutex;
use serde_json::{Value, json};
use socket::SocketTimeouts;
use tokio_tungstenite::tungstenite::Message;

use super::client::{SocketClient, Upgrade};
use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    asyncapi::document,
    operations::TestResources,
    script::{ScriptedTools, scripted},
};

/// A validator for each message of the socket, under its key.
static MESSAGES: LazyLock<Schemas> = LazyLock::new(|| {
    let described = &document()["components"];
    let mut schemas = described["schemas"].clone();
    let mut names = Vec::new();
    for key in keys() {
        let name = format!("message:{key}");
        schemas[&name] = described["messages"][&key]["payload"].clone();
        names.push(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Schemas::new(&json!({"components": {"schemas": schemas}}), &names).expect("schemas")
});

/// The message types that this process has received.
static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The keys of all messages of the socket.
fn keys() -> BTreeSet<String> {
    let messages = document()["channels"]["socket"]["messages"].as_object();
    messages.expect("messages").keys().cloned().collect()
}

/// The messages of the server: the others are requests.
fn keys_of_server() -> BTreeSet<String> {
    let is_documented =
        |key: &String| document()["operations"][format!("{key}Command")].is_object();
    keys()
        .into_iter()
        .filter(|key| !is_documented(key))
        .collect()
}

/// Checks a frame of the server against its message.
pub(crate) fn seen(frame: &Value) {
    let key = key_of(frame);
    let faults = MESSAGES.check(&format!("message:{key}"), frame);
    assert_eq!(faults, [], "{key}: {frame}");
    let mut seen = SEEN.lock();
    seen.insert(key.to_owned());
}

/// The message key of a frame.
fn key_of(frame: &Value) -> &str {
    let result = &frame["result"];
    match frame["type"].as_str().expect("a type") {
        "reply" if frame["ok"] == false => "errorReply",
        "reply" if result["connectionId"].is_string() => "connectReply",
        "reply" if result["channel"].is_string() => "subscribeReply",
        "reply" if result["turn"].is_object() => "turnReply",
        "reply" => "emptyReply",
        "live" => match frame["event"]["type"].as_str().expect("a type") {
            "reasoning.delta" => "reasoningDelta",
            "reply.delta" => "replyDelta",
            "reply.snapshot" => "replySnapshot",
            "tool.called" => "toolCalled",
            "tool.returned" => "toolReturned",
            _ => "typingUpdated",
        },
        "ping" => "serverPing",
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_of_the_server_matches_its_schema() {
    let (engine, mut script) = scripted();
    let times = SocketTimeouts {
        ping: Duration::from_millis(50),
        ..SocketTimeouts::default()
    };
    let builder = ApiServerBuilder::default()
        .sockets(times)
        .engine("scripted", engine)
        .tools(ScriptedTools);
    let api = builder.start().await;
    let config = json!({"engine": "scripted", "llm": {"showReasoning": "everyone"}});
    let agent = json!({"name": "Ada", "capabilities": ["time"], "config": config});
    let agent = id_of(&api.agent(agent).await);
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channel = json!({"channel": format!("conversation:{conversation}")});

    let mut socket = Upgrade::new(&api).with_caller(&api.writer()).open().await;
    let beyond = json!({"channels": ["tenant"], "since": 99});
    socket.connect(beyond).await;
    socket.find(|frame| frame["type"] == "resync").await;
    let again = json!({"channel": "tenant", "since": 0});
    socket.expect_success("subscribe", again).await;
    socket.find(|frame| frame["type"] == "event").await;
    socket.find(|frame| frame["type"] == "caughtUp").await;
    socket.expect_problem("unsubscribe", json!({})).await;

    let chat = json!({"agentId": agent, "conversationId": conversation, "message": "Hello"});
    let turn = socket.expect_success("chat", chat).await["turn"].clone();
    let call = script.next_call().await;
    let live = |kind: &'static str| move |frame: &Value| frame["event"]["type"] == kind;
    call.send_reasoning("Hm.").await;
    socket.find(live("reasoning.delta")).await;
    call.send_text("Once ").await;
    socket.find(live("reply.delta")).await;
    call.use_tool("time", json!({})).await;
    socket.find(live("tool.called")).await;
    socket.find(live("tool.returned")).await;
    socket.expect_success("subscribe", channel).await;
    socket.find(live("reply.snapshot")).await;
    let typing = json!({"conversationId": conversation, "typing": true});
    let mut other = SocketClient::connected(&api, &api.writer(), &[]).await;
    other.expect_success("typing", typing).await;
    socket.find(live("typing.updated")).await;
    socket
        .expect_success("cancel", json!({"turnId": turn["id"]}))
        .await;
    let path = format!("/api/conversations/{conversation}");
    api.writer().delete(&path).await;
    socket.find(|frame| frame["type"] == "unsubscribed").await;

    // The client's automatic pongs keep the connection open.
    while !has_seen("serverPing") {
        socket.remaining().await;
        tokio::task::yield_now().await;
    }
    socket.send_message(Message::binary(vec![1])).await;
    assert_eq!(socket.wait_for_close().await, 1003);

    let seen = SEEN.lock().clone();
    assert_eq!(seen, keys_of_server());
    api.stop().await;
}

fn has_seen(key: &str) -> bool {
    let seen = SEEN.lock();
    seen.contains(key)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_a_command_is_executed() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let chat = json!({"agentId": agent, "message": "Hello"});
    let turn = api.chat(chat).await["turnId"].clone();
    let turn = turn.as_str().expect("a turn");
    let waiting = TestResources::make(&api).await.waiting;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let messages = &document()["components"]["messages"];
    let mut count = 0;
    for key in keys().difference(&keys_of_server()) {
        for example in messages[key]["examples"].as_array().expect("examples") {
            let mut command = example["payload"].clone();
            insert_existing_ids(&mut command, &agent, &conversation, turn);
            if command["type"] == "act" {
                command["turnId"] = json!(waiting);
                command["actions"][0]["callId"] = json!(format!("{waiting}-1"));
            }
            if !command["token"].is_null() {
                command["token"] = json!(api.writer().key());
            }
            count += 1;
            if key != "connect" {
                socket.send(&command.to_string()).await;
                let id = command["id"].as_u64().expect("an id");
                assert_eq!(socket.reply(id).await["ok"], true, "{command}");
                continue;
            }
            let upgrade = Upgrade::new(&api);
            let mut fresh = if command["token"].is_null() {
                upgrade.with_caller(&api.writer()).open().await
            } else {
                upgrade.open().await
            };
            fresh.send(&command.to_string()).await;
            assert_eq!(fresh.reply(1).await["ok"], true, "{command}");
        }
    }
    assert!(count >= 11, "{count} examples were tried");
    api.stop().await;
}

/// Replaces the ids of the example by existing ones.
fn insert_existing_ids(command: &mut Value, agent: &str, conversation: &str, turn: &str) {
    for (member, there) in [
        ("agentId", agent),
        ("conversationId", conversation),
        ("turnId", turn),
    ] {
        if !command[member].is_null() {
            command[member] = json!(there);
        }
    }
    let channel = command["channel"].as_str().unwrap_or_default().to_owned();
    for (kind, there) in [("agent", agent), ("conversation", conversation)] {
        if channel.starts_with(&format!("{kind}:")) {
            command["channel"] = json!(format!("{kind}:{there}"));
        }
    }
}
