//! How much a client may send, and how slowly it may read.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use api::socket::SocketTimes;
use serde_json::json;

use super::client::{Socket, Upgrade};
use crate::{
    engines::scripted_agent,
    harness::{Api, Plan},
};

#[tokio::test]
async fn commands_come_at_20_a_second_and_40_at_once() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    let mut ids = Vec::new();
    for _ in 0..60 {
        ids.push(socket.send_command("ping", json!({})).await);
    }
    let mut refused = Vec::new();
    for id in ids {
        let reply = socket.reply(id).await;
        if reply["ok"] == false {
            refused.push(reply["error"].clone());
        }
    }
    // A machine that stalls lets a few more come.
    assert!((1..=21).contains(&refused.len()), "{}", refused.len());
    for problem in refused {
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
async fn whoever_goes_on_when_refused_is_sent_away() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    for _ in 0..400 {
        socket.send_unheard(r#"{"id": 1, "type": "ping"}"#).await;
    }
    let ended = socket.ended().await;
    assert_eq!(ended.code, 4101);
    let wait = ended.goodbye.unwrap()["reconnectAfterMs"].as_u64().unwrap();
    assert!((1_000..=5_000).contains(&wait), "{wait}");
    api.stop().await;
}

#[tokio::test]
async fn commands_count_like_requests() {
    let plan = Plan::default()
        .setting("LIMITS__REQUESTS__PER_MINUTE", "1")
        .setting("LIMITS__REQUESTS__BURST", "5");
    let api = plan.start().await;
    let caller = api.holder_with(|_| {}).await;
    // The upgrade, and connecting.
    let mut socket = Socket::connected(&api, &caller, &[]).await;
    for _ in 0..3 {
        socket.carried_out("ping", json!({})).await;
    }
    let problem = socket.refused("ping", json!({})).await;
    assert_eq!(problem["code"], "rate_limited");
    assert_eq!(problem["violatedPolicies"], json!(["requests"]));
    assert!(problem["retryAfter"].as_u64().unwrap() > 1, "{problem}");
    let answer = caller.get("/api/agents").await;
    answer.problem(domain::ProblemCode::RateLimited);
    api.stop().await;
}

#[tokio::test]
async fn chats_count_as_chats() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let caller = api.holder_with(|key| {
        key.limits.chat_per_minute = Some(1);
        key.limits.chat_burst = Some(1);
    });
    let mut socket = Socket::connected(&api, &caller.await, &[]).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    socket.carried_out("chat", chat.clone()).await;
    let problem = socket.refused("chat", chat).await;
    assert_eq!(problem["violatedPolicies"], json!(["chat"]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_left_and_delays_nobody() {
    let times = SocketTimes {
        write: Duration::from_secs(1),
        ..SocketTimes::default()
    };
    let api = Plan::default().sockets(times).start().await;
    let alone = api.holder_with(|key| key.limits.streams = Some(1)).await;
    let mut slow = Upgrade::of(&api).by(&alone).narrow().open().await;
    slow.connect(json!({"channels": ["tenant"]})).await;
    let mut quick = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    let config = json!({"instructions": "y".repeat(30_000)});
    let draft = json!({"name": "Ada", "personality": "x".repeat(8_000), "config": config});
    let (patience, mut longest, mut last) = (Instant::now(), Duration::ZERO, 0);
    // Its place is free when it has been left.
    while Upgrade::of(&api).by(&alone).try_open().await.is_err() {
        assert!(patience.elapsed().as_secs() < 60, "it is kept");
        let made = api.agent(draft.clone()).await;
        let began = Instant::now();
        let event = quick.event().await;
        longest = longest.max(began.elapsed());
        assert_eq!(event["agentId"], made["id"]);
        last = event["seq"].as_i64().unwrap();
    }
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    // What it reads now is whole and in order, and ends with the reason if it reads soon enough.
    let ended = slow.ended_or_gone().await;
    assert!(ended.is_none_or(|ended| ended.code == 4201));
    let mut next = 1;
    while let Some(frame) = slow.unread() {
        assert_eq!(frame["event"]["seq"], next, "{}", frame["type"]);
        next += 1;
    }
    assert!(next <= last, "it was told everything");
    // It loses nothing by it.
    let mut back = Upgrade::of(&api).by(&api.reader()).open().await;
    let connected = back.connect(json!({"channels": ["tenant"], "since": next - 1}));
    assert_eq!(connected.await["channels"][0]["recovered"], true);
    while next <= last {
        assert_eq!(back.event().await["seq"], next);
        next += 1;
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_to_a_slow_reader_comes_as_one_snapshot() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut socket = Upgrade::of(&api).by(&api.writer()).narrow().open().await;
    socket.connect(json!({"channels": ["tenant"]})).await;
    // More than waits in the connection and here together, while nothing is read.
    let piece = "x".repeat(9_000);
    let mut calls = Vec::new();
    for _ in 0..8 {
        let chat = json!({"agentId": agent, "message": "Tell me all"});
        socket.send_command("chat", chat).await;
        let call = script.next_call().await;
        for _ in 0..100 {
            call.say(&piece).await;
        }
        calls.push(call);
    }
    let whole = 100 * piece.len();
    let mut texts: HashMap<String, usize> = HashMap::new();
    let mut snapshots = 0;
    while texts.len() < calls.len() || texts.values().any(|length| *length < whole) {
        let frame = socket.next().await;
        let event = &frame["event"];
        let place = |name: &str| usize::try_from(event[name].as_u64().expect("a place"));
        let text = texts.entry(event["turnId"].to_string());
        match event["type"].as_str().unwrap_or_default() {
            "reply.delta" => {
                let text = text.or_default();
                assert_eq!(place("from").unwrap(), *text, "a gap");
                *text = place("to").unwrap();
            }
            "reply.snapshot" => {
                snapshots += 1;
                text.insert_entry(place("to").unwrap());
            }
            _ => {}
        }
    }
    assert!((1..=20).contains(&snapshots), "{snapshots}");
    drop(calls);
    api.stop().await;
}
