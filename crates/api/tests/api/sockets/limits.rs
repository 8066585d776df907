//! How much a client may send, and how slowly it may read.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use api::socket::SocketTimes;
use serde_json::{Value, json};

use super::client::{Socket, Upgrade};
use crate::{
    engines::scripted_agent,
    harness::{Api, Plan, id_of},
    probe::{Misfortune, Probe},
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
async fn what_was_taken_before_that_is_answered() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = Socket::connected(&api, &api.writer(), &[]).await;
    let typing = json!({"conversationId": conversation, "typing": true}).to_string();
    let members = &typing[1..typing.len() - 1];
    for id in 1_000..1_400 {
        let frame = format!(r#"{{"id": {id}, "type": "typing", {members}}}"#);
        socket.send_unheard(&frame).await;
    }
    assert_eq!(socket.ended().await.code, 4101);
    let mut answered = Vec::new();
    while let Some(frame) = socket.unread() {
        answered.push(frame["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    let expected: Vec<u64> = (1_000..).take(answered.len()).collect();
    assert_eq!(answered, expected);
    // 39 or more that are taken, and 100 that are not.
    assert!(answered.len() >= 139, "{}", answered.len());
    api.stop().await;
}

/// A store that takes its time over chats, and a socket that has begun one.
async fn with_a_slow_chat() -> (Api, Arc<Probe>, Socket, Value, u64) {
    let probe = Arc::new(Probe::default());
    let seen = Arc::clone(&probe);
    let plan = Plan::default().over(move |it| seen.over(it));
    let plan = plan.setting("LIMITS__CHAT__BURST", "1000");
    let api = plan
        .setting("LIMITS__REQUESTS__BURST", "10000")
        .start()
        .await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = Socket::connected(&api, &api.writer(), &[]).await;
    probe.make("turns.record_exchange", Misfortune::Slow);
    let chat = json!({"agentId": agent, "message": "Hello", "conversationId": conversation});
    let id = socket.send_command("chat", chat.clone()).await;
    probe.called("turns.record_exchange").await;
    (api, probe, socket, chat, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_waits_for_a_chat_but_chats_of_its_conversation() {
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
        socket.carried_out(command, members).await;
    }
    let nobodys = json!({"turnId": conversation});
    let problem = socket.refused("cancel", nobodys).await;
    assert_eq!(problem["code"], "turn_not_found");
    probe.heal();
    for id in [first, second] {
        let reply = socket.next_of_reply().await;
        assert_eq!((&reply["id"], &reply["ok"]), (&json!(id), &json!(true)));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_commands_are_in_hand_and_whoever_has_more_is_still_heard() {
    let (api, probe, mut socket, chat, first) = with_a_slow_chat().await;
    let mut chats = vec![first];
    while chats.len() < 40 {
        // No faster than commands may come.
        tokio::time::sleep(Duration::from_millis(60)).await;
        chats.push(socket.send_command("chat", chat.clone()).await);
    }
    let problem = socket.refused("chat", chat).await;
    assert_eq!(problem["code"], "rate_limited");
    assert_eq!(problem["violatedPolicies"], json!(["commands"]));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("40 commands"), "{detail}");
    let key = json!({"token": api.writer().key()});
    socket.carried_out("refresh", key).await;
    socket.carried_out("ping", json!({})).await;
    probe.heal();
    for id in chats {
        assert_eq!(socket.reply(id).await["ok"], true);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_is_waited_for_once() {
    let (api, probe, mut socket, chat, first) = with_a_slow_chat().await;
    let mut ids = vec![first];
    for _ in 0..9 {
        ids.push(socket.send_command("chat", chat.clone()).await);
    }
    socket.carried_out("ping", json!({})).await;
    probe.calls();
    probe.make("turns.record_exchange", Misfortune::Away);
    probe.look_again();
    for id in ids {
        assert_eq!(socket.reply(id).await["error"]["code"], "store_unavailable");
    }
    assert_eq!(probe.calls(), Vec::<&str>::new());
    probe.heal();
    socket.carried_out("chat", chat).await;
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
async fn a_client_that_reads_slowly_but_steadily_is_kept() {
    let times = SocketTimes {
        write: Duration::from_secs(2),
        ..SocketTimes::default()
    };
    let api = Plan::default().sockets(times).start().await;
    let config = json!({"instructions": "y".repeat(30_000)});
    let draft = json!({"name": "Ada", "personality": "x".repeat(8_000), "config": config});
    // More than the system buffers for a client.
    for _ in 0..120 {
        api.agent(draft.clone()).await;
    }
    let alone = api.holder_with(|key| key.limits.streams = Some(1)).await;
    let mut slow = Upgrade::of(&api).by(&alone).narrow().open().await;
    slow.connect(json!({"channels": ["tenant"], "since": 0}))
        .await;
    let began = Instant::now();
    let mut next = 1;
    while began.elapsed() < times.write * 3 {
        assert_eq!(slow.event().await["seq"], next);
        next += 1;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let second = Upgrade::of(&api).by(&alone).try_open().await;
    assert!(second.is_err(), "the first was closed after {next} events");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_to_a_slow_reader_comes_in_few_pieces() {
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
    let mut pieces = 0;
    while texts.len() < calls.len() || texts.values().any(|length| *length < whole) {
        let frame = socket.next().await;
        let event = &frame["event"];
        let place = |name: &str| usize::try_from(event[name].as_u64().expect("a place"));
        let text = texts.entry(event["turnId"].to_string());
        assert_ne!(event["type"], "reply.snapshot", "it has the beginning");
        if event["type"] == "reply.delta" {
            let text = text.or_default();
            assert_eq!(place("from").unwrap(), *text, "a gap");
            *text = place("to").unwrap();
            pieces += 1;
        }
    }
    assert!(pieces < 400, "800 were said, and {pieces} came");
    drop(calls);
    api.stop().await;
}
