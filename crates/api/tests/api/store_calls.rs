//! How often the store is asked: calls of ports, counted.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    harness::{Api, Plan, id_of},
    probe::{Misfortune, Probe},
    script::{Script, scripted},
    sockets::client::{Socket, Upgrade},
};

fn probed() -> (Arc<Probe>, Plan) {
    let probe = Arc::new(Probe::default());
    let plan = Plan::default().over({
        let probe = Arc::clone(&probe);
        move |storage| probe.over(storage)
    });
    (probe, plan)
}

/// Lets the credential in once, so that it is remembered.
async fn warm(api: &Api, probe: &Probe) {
    api.writer().get("/api/engines").await.ok();
    probe.calls();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_agent_is_read_from_memory() {
    let (probe, plan) = probed();
    let api = plan.start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    warm(&api, &probe).await;
    for path in [path.clone(), format!("{path}/config")] {
        api.writer().get(&path).await.ok();
        assert_eq!(probe.calls(), Vec::<&str>::new(), "{path}");
    }

    let (probe, plan) = probed();
    let api = api.restart(plan).await;
    // What the start asked for.
    probe.calls();
    api.writer().get(&path).await.ok();
    assert_eq!(probe.calls(), ["credentials.find", "agents.find"], "cold");
    api.writer().get(&path).await.ok();
    assert_eq!(probe.calls(), Vec::<&str>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_by_rules_is_one_write() {
    let (probe, plan) = probed();
    let api = plan.start().await;
    let agent = api.agent_id().await;
    warm(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello"});
    let reply = api.chat(command.clone()).await;
    assert_eq!(
        probe.calls(),
        ["turns.record_exchange"],
        "a new conversation"
    );
    command["conversationId"] = reply["conversationId"].clone();
    for _ in 0..2 {
        api.chat(command.clone()).await;
        assert_eq!(probe.calls(), ["turns.record_exchange"]);
    }

    let (probe, plan) = probed();
    let api = api.restart(plan).await;
    warm(&api, &probe).await;
    api.chat(command.clone()).await;
    let cold = [
        "conversations.find_head",
        "agents.find",
        "turns.record_exchange",
    ];
    assert_eq!(probe.calls(), cold);
    api.chat(command).await;
    assert_eq!(probe.calls(), ["turns.record_exchange"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_takes_its_time_is_two_writes() {
    let (probe, plan) = probed();
    let (engine, mut script) = scripted();
    let api = plan.engine("scripted", engine).start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    warm(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello"});
    for _ in 0..3 {
        let reply = answered(&api, &mut script, command.clone()).await;
        command["conversationId"] = reply["conversationId"].clone();
        assert_eq!(probe.calls(), ["turns.begin_turn", "turns.finish_turn"]);
    }

    let (probe, plan) = probed();
    let (engine, mut script) = scripted();
    let api = api.restart(plan.engine("scripted", engine)).await;
    warm(&api, &probe).await;
    answered(&api, &mut script, command.clone()).await;
    let cold = [
        "conversations.find_head",
        "agents.find",
        "turns.begin_turn",
        "conversations.history",
        "turns.finish_turn",
    ];
    assert_eq!(probe.calls(), cold, "what was said is read once");
    answered(&api, &mut script, command).await;
    assert_eq!(probe.calls(), ["turns.begin_turn", "turns.finish_turn"]);
    api.stop().await;
}

/// What the agent is said to reply.
async fn answered(api: &Api, script: &mut Script, command: Value) -> Value {
    let answer = async { script.next_call().await.answer("Yes.").await };
    tokio::join!(api.chat(command), answer).0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_told_at_once_is_not_read_back() {
    let (probe, plan) = probed();
    let api = plan.start().await;
    let agent = api.agent_id().await;
    let mut socket = Socket::connected(&api, &api.writer(), &[]).await;
    warm(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello"});
    // What is news in the log is read once for all who follow it, whoever caused it.
    let calls = || {
        let mut calls = probe.calls();
        calls.retain(|call| *call != "events.page");
        calls
    };
    for _ in 0..3 {
        let told = respond_async(&api, &command).await;
        assert_eq!(calls(), ["turns.record_exchange"]);
        assert_eq!(told, stored(&api, &told).await);
        probe.calls();
        let told = socket.carried_out("chat", command.clone()).await["turn"].clone();
        assert_eq!(calls(), ["turns.record_exchange"]);
        assert_eq!(told, stored(&api, &told).await);
        command["conversationId"] = told["conversationId"].clone();
        probe.calls();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_takes_its_time_or_waits_is_told_as_it_is_stored() {
    let (probe, plan) = probed();
    let (engine, mut script) = scripted();
    let api = plan.engine("scripted", engine).start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    warm(&api, &probe).await;
    let mut command = json!({"agentId": agent, "message": "Hello", "metadata": {"a": "b"}});
    let started = respond_async(&api, &command).await;
    let call = script.next_call().await;
    assert_eq!(probe.calls(), ["turns.begin_turn"]);
    command["conversationId"] = started["conversationId"].clone();
    let queued = respond_async(&api, &command).await;
    assert_eq!(probe.calls().last(), Some(&"turns.begin_turn"));
    for (told, status) in [(started, "in_progress"), (queued, "queued")] {
        assert_eq!(told["status"], status);
        assert_eq!(told, stored(&api, &told).await);
    }
    call.answer("Yes.").await;
    script.next_call().await.answer("Yes.").await;
    api.stop().await;
}

/// The turn that a chat answers that waits for nothing.
async fn respond_async(api: &Api, command: &Value) -> Value {
    let request = api.writer().request("POST", "/api/chat");
    let request = request.header("Prefer", "respond-async").json(command);
    let answer = request.send().await;
    assert_eq!(answer.status, 202);
    answer.json()
}

/// The same turn as it is read.
async fn stored(api: &Api, turn: &Value) -> Value {
    let path = format!("/api/turns/{}", turn["id"].as_str().expect("an id"));
    api.writer().get(&path).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_with_an_idempotency_key_is_one_write() {
    let (probe, plan) = probed();
    let api = plan.start().await;
    warm(&api, &probe).await;
    let create = |draft: Value| {
        let request = api.writer().request("POST", "/api/agents");
        request.header("Idempotency-Key", "k").json(&draft).send()
    };
    for _ in 0..2 {
        create(json!({"name": "Ada"})).await.made();
        assert_eq!(probe.calls(), ["agents.insert"]);
    }
    // Only who is refused on the way there needs a look at the key.
    let invalid = json!({"name": "Ada", "config": {"engine": "oracle"}});
    assert_eq!(create(invalid).await.status, 422);
    assert_eq!(probe.calls(), ["claims.find"]);
    probe.make("agents.insert", Misfortune::Away);
    assert_eq!(create(json!({"name": "Ada"})).await.status, 503);
    assert_eq!(probe.calls(), ["agents.insert"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_or_an_uncached_read_is_one_call() {
    let (probe, plan) = probed();
    let api = plan.start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let text = |member: &str| reply[member].as_str().unwrap().to_owned();
    let conversation = format!("/api/conversations/{}", text("conversationId"));
    warm(&api, &probe).await;
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
async fn a_socket_asks_for_no_more_than_it_has_to_know() {
    let (probe, plan) = probed();
    let api = plan.start().await;
    let agent = api.agent_id().await;
    let mut channels = vec!["tenant".to_owned(), format!("agent:{agent}")];
    for _ in 0..20 {
        let conversation = api.conversation(json!({"agentId": agent})).await;
        channels.push(format!("conversation:{}", id_of(&conversation)));
    }
    warm(&api, &probe).await;
    // Keeps the log being read.
    let _first = Socket::connected(&api, &api.writer(), &["tenant"]).await;
    probe.calls();
    let connect = async |since: Option<i64>| {
        let mut socket = Upgrade::of(&api).by(&api.writer()).open().await;
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
        socket.carried_out("typing", members).await;
    }
    let members = json!({"channel": channels[3]});
    socket.carried_out("subscribe", members).await;
    assert_eq!(probe.calls(), Vec::<&str>::new());
    // From before what is in memory.
    let behind = connect(Some(0)).await;
    let bounds = probe
        .calls()
        .iter()
        .filter(|it| **it == "events.bounds")
        .count();
    assert_eq!(bounds, 1);
    drop((socket, behind));

    let (probe, plan) = probed();
    let api = api.restart(plan).await;
    warm(&api, &probe).await;
    let mut socket = Upgrade::of(&api).by(&api.writer()).open().await;
    probe.calls();
    socket.connect(json!({"channels": channels})).await;
    let calls = probe.calls();
    let (heads, others): (Vec<_>, Vec<_>) = calls
        .into_iter()
        .partition(|it| *it == "conversations.find_head");
    assert_eq!((heads.len(), others), (20, vec!["agents.find"]), "cold");
    drop(socket);
    api.stop().await;
}
