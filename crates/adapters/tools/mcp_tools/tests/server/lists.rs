//! The tools of a server and their changes.

use ports::ToolProvider as _;
use serde_json::json;

use crate::fixture::Fixture;

const TOOLS: [&str; 16] = [
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
    "scripted/mixed",
    "scripted/parent",
    "scripted/refuse",
    "scripted/well",
];

#[tokio::test]
async fn tools_of_all_pages_are_offered() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    assert_eq!(server.tool_names(), TOOLS);
    let described = server.capabilities();
    assert_eq!(described[0].description, "All tools of Scripted tools");
    assert_eq!(described[1].description, "Scripted: add_silently");
}

#[tokio::test]
async fn a_tool_that_cannot_be_offered_does_not_affect_the_others() {
    let server = Fixture::scripted("careless").wait_until_connected().await;
    assert_eq!(server.tool_names(), TOOLS);
}

#[tokio::test]
async fn a_repeated_cursor_ends_the_list() {
    let server = Fixture::scripted("forgetful").wait_until_connected().await;
    assert_eq!(server.tool_names(), TOOLS);
    // The first page, and the one with the cursor.
    assert_eq!(server.notes(), "lists\nlists\n");
}

#[tokio::test]
async fn an_added_tool_is_offered_after_a_notification() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    server.call("add_tool", json!({})).await.expect("a result");
    let is_there = |name: &str| name == "scripted/added";
    server
        .wait_until("the new tool is offered", |server| {
            server.tools().iter().any(|tool| is_there(&tool.name))
        })
        .await;
}

#[tokio::test]
async fn a_silently_added_tool_is_offered_after_the_next_listing() {
    let server = Fixture::scripted_listed_often("well")
        .wait_until_connected()
        .await;
    let added = server.call("add_silently", json!({})).await;
    added.expect("a result");
    server
        .wait_until("the new tool is offered", |server| {
            let tools = server.tools();
            tools.iter().any(|tool| tool.name == "scripted/unannounced")
        })
        .await;
}
