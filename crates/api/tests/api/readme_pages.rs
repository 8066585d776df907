//! The README's snippets for pages, as they stand there, against a service whose connections break.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{engines::scripted_agent, harness::Api, partner::Partner};

const README: &str = include_str!("../../../../README.md");

/// The snippet of the README that begins with this name.
fn snippet(name: &str) -> &'static str {
    let begin = format!("```js\n// {name}: ");
    let at = README.find(&begin).expect(name) + "```js\n".len();
    let end = README[at..].find("\n```").expect("its end");
    &README[at..at + end]
}

/// A page that talks with a service over connections that can be cut.
async fn page(api: &Api) -> Partner {
    let mut page = Partner::start("readme_pages.mjs", &[]);
    page.ask(&json!({"do": "relay", "port": api.address.port()}))
        .await;
    page
}

/// What the page was told of replies, in order and without repetition, with how often the
/// connection was cut before.
fn texts(told: &Value) -> String {
    let mut all = String::new();
    for entry in told.as_array().expect("entries") {
        if let Some(text) = entry["text"].as_str() {
            let _ = writeln!(all, "{} {text}", entry["cuts"]);
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_a_whole_reply_although_its_connection_breaks() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let mut page = page(&api).await;
    let order = json!({
        "do": "chat", "source": snippet("chat.js"), "token": api.writer().key(),
        "question": {"agentId": agent, "message": "Hello"},
    });
    let (call, _) = tokio::join!(
        async {
            let call = script.next_call().await;
            call.say("Grüße, ").await;
            call
        },
        page.ask(&order)
    );
    page.ask(&json!({"do": "cut"})).await;
    call.say("Ada.").await;
    call.end();
    let ended = page.ask(&json!({"do": "chatted"})).await;
    assert_eq!(ended["reply"], "Grüße, Ada.");
    let shown = texts(&ended["told"]);
    assert!(shown.starts_with("0 Grüße, \n1 Grüße, "), "{shown}");
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
        "channel": "tenant", "since": 0,
    }))
    .await;
    let request = api.writer().request("POST", "/api/chat");
    let chat = json!({"agentId": agent, "message": "Hello"});
    let request = request.header("Prefer", "respond-async").json(&chat);
    assert_eq!(request.send().await.status, 202);
    let call = script.next_call().await;
    call.say("Grüße, ").await;
    page.ask(&json!({"do": "until", "member": "text", "value": "Grüße, "}))
        .await;
    page.ask(&json!({"do": "cut"})).await;
    call.say("Ada.").await;
    page.ask(&json!({"do": "until", "member": "text", "value": "Grüße, Ada."}))
        .await;
    call.end();
    let told = page
        .ask(&json!({"do": "until", "member": "type", "value": "turn.completed"}))
        .await;
    let shown = texts(&told["told"]);
    assert!(shown.starts_with("0 Grüße, \n1 Grüße, "), "{shown}");

    let entries = told["told"].as_array().expect("entries");
    let positions: Vec<i64> = entries.iter().filter_map(|it| it["seq"].as_i64()).collect();
    let expected: Vec<i64> = (1..).take(positions.len()).collect();
    assert_eq!(positions, expected, "every event once, in order: {told}");
    assert!(entries.iter().all(|it| it["end"].is_null()), "{told}");
    api.stop().await;
}
