//! What a server has, and when that changes.

use std::sync::Arc;

use ports::ToolProvider as _;
use serde_json::json;

use crate::ground::Ground;

const TOOLS: [&str; 15] = [
    "scripted/add_silently",
    "scripted/add_tool",
    "scripted/ask",
    "scripted/break",
    "scripted/complain",
    "scripted/deny",
    "scripted/exit",
    "scripted/exit_but_for_a_child",
    "scripted/fail",
    "scripted/flood",
    "scripted/hang",
    "scripted/large",
    "scripted/parent",
    "scripted/refuse",
    "scripted/well",
];

#[tokio::test]
async fn tools_of_all_pages_are_offered() {
    let server = Ground::scripted("well").connected().await;
    assert_eq!(server.tool_names(), TOOLS);
    let described = server.capabilities();
    assert_eq!(described[0].description, "All tools of Scripted tools");
    assert_eq!(described[1].description, "Scripted: add_silently");
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_does_not_affect_the_others() {
    let server = Ground::scripted("careless").connected().await;
    assert_eq!(server.tool_names(), TOOLS);
}

#[tokio::test]
async fn a_tool_that_comes_later_is_offered_when_the_server_tells_of_it() {
    let server = Ground::scripted("well").connected().await;
    server.call("add_tool", json!({})).await.expect("an answer");
    let is_there = |name: &str| name == "scripted/added";
    server
        .until("the new tool is offered", |server| {
            server.tools().iter().any(|tool| is_there(&tool.name))
        })
        .await;
}

#[tokio::test]
async fn a_tool_that_comes_silently_is_offered_when_the_server_is_asked_again() {
    let server = Ground::scripted_asked_often("well").connected().await;
    let added = server.call("add_silently", json!({})).await;
    added.expect("an answer");
    server
        .until("the new tool is offered", |server| {
            let tools = server.tools();
            tools.iter().any(|tool| tool.name == "scripted/unannounced")
        })
        .await;
}

#[tokio::test]
async fn a_tool_that_has_not_changed_stays_the_same_definition() {
    let server = Ground::scripted_asked_often("well").connected().await;
    let before = server.tools();
    let added = server.call("add_silently", json!({})).await;
    added.expect("an answer");
    server
        .until("the list was asked for again", |server| {
            server.tools().len() > before.len()
        })
        .await;
    let now = server.tools();
    let is_kept = |known| now.iter().any(|tool| Arc::ptr_eq(tool, known));
    assert!(before.iter().all(is_kept), "{now:?}");
}
