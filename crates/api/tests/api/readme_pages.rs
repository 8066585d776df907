//! Runs the documented JavaScript unchanged, against a service whose connections break.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    time::{Duration, Instant},
};

use domain::Scope;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{api_server::ApiServer, child_program::ChildProgram, engines::scripted_agent};

const DOCUMENTS: [&str; 2] = [
    include_str!("../../../../README.md"),
    include_str!("../../../../docs/real-time.md"),
];

/// The code block that starts with a comment with this name, in either document.
fn snippet(name: &str) -> &'static str {
    let begin = format!("```js\n// {name}: ");
    let from = |document: &'static str| Some(&document[document.find(&begin)? + "```js\n".len()..]);
    let snippet = DOCUMENTS.into_iter().find_map(from).expect(name);
    snippet.split("\n```").next().expect("its end")
}

/// A page that uses a service over connections that the test can break.
async fn page(api: &ApiServer) -> ChildProgram {
    let mut page = ChildProgram::start("readme_pages.mjs", &[]);
    page.ask(&json!({"do": "relay", "port": api.address.port()}))
        .await;
    page
}

/// The reply data that the page received, in order and without repetition, and the number of
/// connection failures before.
fn texts(reported: &Value) -> String {
    let mut all = String::new();
    for entry in reported.as_array().expect("entries") {
        if let Some(text) = entry["text"].as_str() {
            let _ = writeln!(all, "{} {text}", entry["cuts"]);
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_a_reply_while_it_is_written() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut page = page(&api).await;
    let order = json!({
        "do": "ask", "source": snippet("reply.js"), "token": api.writer().key(),
        "question": {"agentId": agent, "message": "Hello"},
    });
    let ((), ended) = tokio::join!(
        async {
            let call = script.next_call().await;
            call.send_text("Grüße, ").await;
            call.send_text("Ada.").await;
            call.end();
        },
        page.ask(&order)
    );
    assert_eq!(ended["reply"], "Grüße, Ada.", "{ended}");
    let shown = ended["shown"].as_array().expect("texts");
    assert_eq!(shown.last(), Some(&json!("Grüße, Ada.")), "{ended}");
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_a_whole_reply_although_its_connection_breaks() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut page = page(&api).await;
    let order = json!({
        "do": "chat", "source": snippet("chat.js"), "token": api.writer().key(),
        "question": {"agentId": agent, "message": "Hello"}, "awaitText": true,
    });
    let (call, _) = tokio::join!(
        async {
            let call = script.next_call().await;
            call.send_text("Grüße, ").await;
            call
        },
        page.ask(&order)
    );
    page.ask(&json!({"do": "cut"})).await;
    call.send_text("Ada.").await;
    call.end();
    let ended = page.ask(&json!({"do": "chatted"})).await;
    assert_eq!(ended["reply"], "Grüße, Ada.");
    let shown = texts(&ended["entries"]);
    assert!(shown.starts_with("0 \n0 Grüße, \n1 Grüße, "), "{shown}");
    let turns = ended["entries"].as_array().expect("entries").iter();
    let turns: BTreeSet<&str> = turns.filter_map(|it| it["turnId"].as_str()).collect();
    let path = format!("/api/turns/{}", turns.first().expect("a turn"));
    let turn = api.reader().get(&path).await;
    assert_eq!(turn.ok()["reply"]["content"], "Grüße, Ada.");
    assert_eq!(turns.len(), 1);
    assert!(shown.ends_with("Grüße, Ada.\n"), "{shown}");
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_follows_the_log_without_a_gap_although_its_connection_breaks() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut page = page(&api).await;
    page.ask(&json!({
        "do": "follow", "source": snippet("follow.js"), "token": api.writer().key(),
        "channels": ["tenant"], "since": 0,
    }))
    .await;
    let request = api.writer().request("POST", "/api/chat");
    let chat = json!({"agentId": agent, "message": "Hello"});
    let request = request.header("Prefer", "respond-async").json(&chat);
    assert_eq!(request.send().await.status, 202);
    let call = script.next_call().await;
    call.send_text("Grüße, ").await;
    page.ask(&json!({"do": "until", "member": "text", "value": "Grüße, "}))
        .await;
    page.ask(&json!({"do": "cut"})).await;
    call.send_text("Ada.").await;
    page.ask(&json!({"do": "until", "member": "text", "value": "Grüße, Ada."}))
        .await;
    call.end();
    let reported = page
        .ask(&json!({"do": "until", "member": "type", "value": "turn.completed"}))
        .await;
    let shown = texts(&reported["entries"]);
    assert!(shown.starts_with("0 Grüße, \n1 Grüße, "), "{shown}");

    let entries = reported["entries"].as_array().expect("entries");
    let positions: Vec<i64> = entries.iter().filter_map(|it| it["seq"].as_i64()).collect();
    let expected: Vec<i64> = (1..).take(positions.len()).collect();
    assert_eq!(
        positions, expected,
        "every event once, in order: {reported}"
    );
    assert!(entries.iter().all(|it| it["end"].is_null()), "{reported}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_notices_connections_that_died_without_a_word() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    // These pages detect silent connections sooner.
    let hurry = json!({"do": "hurry", "times": 20});
    let mut chatting = page(&api).await;
    chatting.ask(&hurry).await;
    let order = json!({
        "do": "chat", "source": snippet("chat.js"), "token": api.writer().key(),
        "question": {"agentId": agent, "message": "Hello"},
    });
    let (call, _) = tokio::join!(
        async {
            let call = script.next_call().await;
            call.send_text("Grüße, ").await;
            call
        },
        chatting.ask(&order)
    );
    let mut following = page(&api).await;
    following.ask(&hurry).await;
    let order = json!({
        "do": "follow", "source": snippet("follow.js"), "token": api.writer().key(),
        "channels": ["tenant", format!("agent:{agent}")], "since": 0,
    });
    following.ask(&order).await;
    let seen = json!({"do": "until", "member": "type", "value": "turn.started"});
    following.ask(&seen).await;

    chatting.ask(&json!({"do": "freeze"})).await;
    call.send_text("Ada.").await;
    call.end();
    let ended = chatting.ask(&json!({"do": "chatted"})).await;
    assert_eq!(ended["reply"], "Grüße, Ada.");
    following.ask(&json!({"do": "freeze"})).await;
    let seen = json!({"do": "until", "member": "type", "value": "turn.completed"});
    let reported = following.ask(&seen).await;
    let entries = reported["entries"].as_array().expect("entries");
    let positions: Vec<i64> = entries.iter().filter_map(|it| it["seq"].as_i64()).collect();
    let expected: Vec<i64> = (1..).take(positions.len()).collect();
    assert_eq!(
        positions, expected,
        "each event once over both channels: {reported}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_goes_on_with_other_channels_when_one_ends() {
    let api = ApiServer::start().await;
    let mut page = page(&api).await;
    let (one, other) = (api.agent_id().await, api.agent_id().await);
    let channels = [&one, &other].map(|agent| format!("agent:{agent}"));
    page.ask(&json!({
        "do": "follow", "source": snippet("follow.js"), "token": api.writer().key(),
        "channels": channels, "since": 0,
    }))
    .await;
    page.ask(&json!({"do": "until", "member": "seq", "value": 2}))
        .await;
    api.writer().delete(&format!("/api/agents/{one}")).await;
    page.ask(&json!({"do": "until", "member": "drop", "value": channels[0]}))
        .await;
    api.writer().delete(&format!("/api/agents/{other}")).await;
    let reported = page
        .ask(&json!({"do": "until", "member": "end", "value": "deleted"}))
        .await;
    let drops = reported["entries"].as_array().expect("entries").iter();
    assert_eq!(
        drops.filter(|it| it["drop"].is_string()).count(),
        1,
        "{reported}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_asks_again_what_can_succeed_later_and_no_longer_than_that() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut page = page(&api).await;
    let hasty = api
        .caller_with_key(|draft| {
            draft.limits.chat_per_minute = Some(60);
            draft.limits.chat_burst = Some(1);
        })
        .await;
    let ask = |message: &str, key: &str| {
        json!({
            "do": "ask", "source": snippet("chat.js"), "token": key,
            "question": {"agentId": agent, "message": message},
        })
    };
    // The first chat uses up the burst: the second is rejected, waits, and succeeds.
    for message in ["Hello", "Again"] {
        let order = ask(message, hasty.key());
        let ((), ended) = tokio::join!(
            async {
                let call = script.next_call().await;
                assert_eq!(call.request.message, message);
                call.answer("Yes.").await;
            },
            page.ask(&order)
        );
        assert_eq!(ended["reply"], "Yes.", "{ended}");
    }
    let order = ask("Once more", api.writer().key());
    let ((), ended) = tokio::join!(
        async {
            let lost = script.next_call().await;
            lost.fail(ReplyError::Unavailable("for a moment".into()));
            script.next_call().await.answer("Here.").await;
        },
        page.ask(&order)
    );
    assert_eq!(ended["reply"], "Here.", "the same key begins another turn");
    // The engine's retry delay is longer than the page would wait.
    let order = ask("Later", api.writer().key());
    let (waited, ended) = tokio::join!(
        async {
            let limited = script.next_call().await;
            let asked_at = Instant::now();
            let retry_after = Some(Duration::from_secs(2));
            limited.fail(ReplyError::RateLimited { retry_after });
            script.next_call().await.answer("Now.").await;
            asked_at.elapsed()
        },
        page.ask(&order)
    );
    assert_eq!(ended["reply"], "Now.", "{ended}");
    assert!(waited >= Duration::from_secs(2), "after {waited:?}");
    let rejected = page.ask(&ask("Hello", "agk_nonsense")).await;
    assert_eq!(rejected["refused"], "invalid_credentials");
    let order = json!({"do": "askInVain", "source": snippet("chat.js"), "calls": 4});
    let in_vain = page.ask(&order).await;
    assert_eq!(in_vain["calls"], 4, "until the page gives up");
    assert_eq!(in_vain["refused"], "The stream ended early.");
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_that_its_ticket_is_refused() {
    let api = ApiServer::start().await;
    let mut page = page(&api).await;
    let stranger = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    page.ask(&json!({
        "do": "follow", "source": snippet("follow.js"), "token": stranger.key(),
        "channels": ["tenant"], "since": 0,
    }))
    .await;
    let reported = page
        .ask(&json!({"do": "until", "member": "end", "value": "insufficient_scope"}))
        .await;
    assert_eq!(
        reported["entries"].as_array().map(Vec::len),
        Some(1),
        "{reported}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_is_talked_to_as_the_documentation_shows() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut page = page(&api).await;
    page.ask(&json!({
        "do": "talk", "source": snippet("talk.js"), "token": api.writer().key(),
        "agent": agent, "message": "Hello",
    }))
    .await;
    let call = script.next_call().await;
    call.send_text("Yes.").await;
    page.ask(&json!({"do": "until", "member": "frame", "value": "reply.delta"}))
        .await;
    call.end();
    let reported = page
        .ask(&json!({"do": "until", "member": "frame", "value": "turn.completed"}))
        .await;
    let entries = reported["entries"].as_array().expect("entries");
    let frames: Vec<&str> = entries
        .iter()
        .filter_map(|it| it["frame"].as_str())
        .collect();
    let expected = [
        "reply 1",
        "reply 2",
        "conversation.created",
        "turn.started",
        "reply.delta",
        "turn.completed",
    ];
    assert_eq!(frames, expected);
    script.assert_no_more_calls();
    api.stop().await;
}
