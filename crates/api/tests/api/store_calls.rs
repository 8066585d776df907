//! The number of store calls.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    chat_streams::stream_chat,
    script::{Script, scripted},
    sockets::client::{SocketClient, Upgrade},
    storage_probe::{InjectedFault, StorageProbe},
};

fn server_with_probe() -> (Arc<StorageProbe>, ApiServerBuilder) {
    let probe = Arc::new(StorageProbe::default());
    let builder = ApiServerBuilder::default().wrap_storage({
        let probe = Arc::clone(&probe);
        move |storage| probe.wrap_storage(storage)
    });
    (probe, builder)
}

/// Authenticates once, so that the credential is remembered.
async fn authenticate_once(api: &ApiServer, probe: &StorageProbe) {
    api.writer().get("/api/engines").await.ok();
    probe.calls();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_agent_is_read_from_memory() {
    let (probe, builder) = server_with_probe();
    let api = builder.start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    authenticate_once(&api, &probe).await;
    for path in [path.clone(), format!("{path}/config")] {
        api.writer().get(&path).await.ok();
        assert_eq!(probe.calls(), Vec::<&str>::new(), "{path}");
    }

    let (probe, builder) = server_with_probe();
    let api = api.restart(builder).await;
    // The calls of the start.
    probe.calls();
    api.writer().get(&path).await.ok();
    assert_eq!(probe.calls(), ["credentials.find", "agents.find"], "cold");
    api.writer().get(&path).await.ok();
    assert_eq!(probe.calls(), Vec::<&str>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_by_rules_is_one_write() {
    let (probe, builder) = server_with_probe();
    let api = builder.start().await;
    let agent = api.agent_id().await;
    authenticate_once(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello"});
    let reply = api.chat(command.clone()).await;
    assert_eq!(
        probe.calls(),
        ["turns.record_completed_turn"],
        "a new conversation"
    );
    command["conversationId"] = reply["conversationId"].clone();
    for _ in 0..2 {
        api.chat(command.clone()).await;
        assert_eq!(probe.calls(), ["turns.record_completed_turn"]);
    }

    let (probe, builder) = server_with_probe();
    let api = api.restart(builder).await;
    authenticate_once(&api, &probe).await;
    api.chat(command.clone()).await;
    let cold = [
        "conversations.find_state",
        "agents.find",
        "turns.record_completed_turn",
    ];
    assert_eq!(probe.calls(), cold);
    api.chat(command).await;
    assert_eq!(probe.calls(), ["turns.record_completed_turn"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_chat_is_two_writes() {
    let (probe, builder) = server_with_probe();
    let (engine, mut script) = scripted();
    let api = builder.engine("scripted", engine).start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    authenticate_once(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello"});
    for _ in 0..3 {
        let reply = answered(&api, &mut script, command.clone()).await;
        command["conversationId"] = reply["conversationId"].clone();
        assert_eq!(probe.calls(), ["turns.begin_turn", "turns.finish_turn"]);
    }
    let mut stream = stream_chat(&api, command.clone()).await;
    script.next_call().await.answer("Yes.").await;
    let events = stream.remaining().await;
    let completed = events.last().expect("the end of the turn");
    assert!(completed.data["seq"].is_i64(), "{completed:?}");
    assert_eq!(
        probe.calls(),
        ["turns.begin_turn", "turns.finish_turn"],
        "the position of the end is known"
    );

    let (probe, builder) = server_with_probe();
    let (engine, mut script) = scripted();
    let api = api.restart(builder.engine("scripted", engine)).await;
    authenticate_once(&api, &probe).await;
    answered(&api, &mut script, command.clone()).await;
    let cold = [
        "conversations.find_state",
        "agents.find",
        "turns.begin_turn",
        // At the same time.
        "conversations.history",
        "conversations.find",
        "turns.finish_turn",
    ];
    assert_eq!(probe.calls(), cold, "messages and context are read once");
    answered(&api, &mut script, command).await;
    assert_eq!(probe.calls(), ["turns.begin_turn", "turns.finish_turn"]);
    api.stop().await;
}

/// The agent's configured reply.
async fn answered(api: &ApiServer, script: &mut Script, command: Value) -> Value {
    let response = async { script.next_call().await.answer("Yes.").await };
    tokio::join!(api.chat(command), response).0
}

#[tokio::test(flavor = "multi_thread")]
async fn an_immediate_turn_is_not_read_back() {
    let (probe, builder) = server_with_probe();
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    authenticate_once(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello"});
    // New events are read once for all subscribers.
    let calls = || {
        let mut calls = probe.calls();
        calls.retain(|call| *call != "events.page");
        calls
    };
    for _ in 0..3 {
        let received = respond_async(&api, &command).await;
        assert_eq!(calls(), ["turns.record_completed_turn"]);
        assert_eq!(received, read_turn(&api, &received).await);
        probe.calls();
        let received = socket.expect_success("chat", command.clone()).await["turn"].clone();
        assert_eq!(calls(), ["turns.record_completed_turn"]);
        assert_eq!(received, read_turn(&api, &received).await);
        command["conversationId"] = received["conversationId"].clone();
        probe.calls();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_or_queued_turn_is_returned_as_stored() {
    let (probe, builder) = server_with_probe();
    let (engine, mut script) = scripted();
    let api = builder.engine("scripted", engine).start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    authenticate_once(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello", "metadata": {"a": "b"}});
    let started = respond_async(&api, &command).await;
    let call = script.next_call().await;
    assert_eq!(probe.calls(), ["turns.begin_turn"]);
    command["conversationId"] = started["conversationId"].clone();
    let queued = respond_async(&api, &command).await;
    assert_eq!(probe.calls().last(), Some(&"turns.begin_turn"));
    for (received, status) in [(started, "in_progress"), (queued, "queued")] {
        assert_eq!(received["status"], status);
        assert_eq!(received, read_turn(&api, &received).await);
    }
    call.answer("Yes.").await;
    script.next_call().await.answer("Yes.").await;
    api.stop().await;
}

/// The turn of an asynchronous chat.
async fn respond_async(api: &ApiServer, command: &Value) -> Value {
    let request = api.writer().request("POST", "/api/chat");
    let request = request.header("Prefer", "respond-async").json(command);
    let response = request.send().await;
    assert_eq!(response.status, 202);
    response.json()
}

/// The same turn, read again.
async fn read_turn(api: &ApiServer, turn: &Value) -> Value {
    let path = format!("/api/turns/{}", turn["id"].as_str().expect("an id"));
    api.writer().get(&path).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_with_an_idempotency_key_is_one_write() {
    let (probe, builder) = server_with_probe();
    let api = builder.start().await;
    authenticate_once(&api, &probe).await;
    let create = |draft: Value| {
        let request = api.writer().request("POST", "/api/agents");
        request.header("Idempotency-Key", "k").json(&draft).send()
    };
    for call in ["agents.insert", "writes.nothing"] {
        create(json!({"name": "Ada"})).await.created();
        assert_eq!(probe.calls(), [call]);
    }
    // Only a rejected request needs a lookup of the key.
    let invalid = json!({"name": "Ada", "config": {"engine": "oracle"}});
    assert_eq!(create(invalid).await.status, 422);
    assert_eq!(probe.calls(), ["idempotency_records.find"]);
    probe.inject("writes.nothing", InjectedFault::Unavailable);
    assert_eq!(create(json!({"name": "Ada"})).await.status, 503);
    assert_eq!(probe.calls(), ["writes.nothing"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_or_an_uncached_read_is_one_call() {
    let (probe, builder) = server_with_probe();
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let text = |member: &str| reply[member].as_str().unwrap().to_owned();
    let conversation = format!("/api/conversations/{}", text("conversationId"));
    authenticate_once(&api, &probe).await;
    for (path, calls) in [
        ("/api/agents".to_owned(), "agents.list"),
        ("/api/conversations".to_owned(), "conversations.list"),
        (conversation.clone(), "conversations.find"),
        (format!("{conversation}/messages"), "conversations.messages"),
        (format!("/api/turns/{}", text("turnId")), "turns.find"),
        ("/api/events?since=0".to_owned(), "events.page"),
    ] {
        api.writer().get(&path).await.ok();
        assert_eq!(probe.calls(), [calls], "{path}");
    }
    for path in ["/api/engines", "/api/capabilities", "/api/limits", "/livez"] {
        assert_ne!(api.writer().get(path).await.ok(), Value::Null);
        assert_eq!(probe.calls(), Vec::<&str>::new(), "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_makes_only_the_necessary_store_calls() {
    let (probe, builder) = server_with_probe();
    let api = builder.start().await;
    let agent = api.agent_id().await;
    let mut channels = vec!["tenant".to_owned(), format!("agent:{agent}")];
    for _ in 0..20 {
        let conversation = api.conversation(json!({"agentId": agent})).await;
        channels.push(format!("conversation:{}", id_of(&conversation)));
    }
    authenticate_once(&api, &probe).await;
    // Keeps the tail of the log active.
    let _first = SocketClient::connected(&api, &api.writer(), &["tenant"]).await;
    probe.calls();
    let connect = async |since: Option<i64>| {
        let mut socket = Upgrade::new(&api).with_caller(&api.writer()).open().await;
        let mut members = json!({"channels": channels});
        if let Some(since) = since {
            members["since"] = since.into();
        }
        let connected = socket.connect(members).await;
        let states = connected["channels"].as_array().unwrap();
        assert!(
            states.iter().all(|state| state["ok"] == true),
            "{connected}"
        );
        socket
    };
    let mut socket = connect(None).await;
    assert_eq!(probe.calls(), Vec::<&str>::new());
    let conversation = channels[2].split_once(':').unwrap().1;
    for typing in [true, false] {
        let members = json!({"conversationId": conversation, "typing": typing});
        socket.expect_success("typing", members).await;
    }
    let members = json!({"channel": channels[3]});
    socket.expect_success("subscribe", members).await;
    assert_eq!(probe.calls(), Vec::<&str>::new());
    // From a position before the tail.
    let behind = connect(Some(0)).await;
    let bounds = probe
        .calls()
        .iter()
        .filter(|it| **it == "events.bounds")
        .count();
    assert_eq!(bounds, 1);
    drop((socket, behind));

    let (probe, builder) = server_with_probe();
    let api = api.restart(builder).await;
    authenticate_once(&api, &probe).await;
    let mut socket = Upgrade::new(&api).with_caller(&api.writer()).open().await;
    probe.calls();
    socket.connect(json!({"channels": channels})).await;
    let calls = probe.calls();
    let (heads, others): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .partition(|it| *it == "conversations.find_state");
    assert_eq!((heads.len(), others), (20, vec!["agents.find"]), "cold");
    drop(socket);
    api.stop().await;
}
