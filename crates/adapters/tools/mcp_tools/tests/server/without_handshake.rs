//! Servers that support only the protocol version without a handshake.

use ports::ToolProvider as _;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn servers_without_a_handshake_are_supported() {
    let server = Fixture::scripted("newest").wait_until_connected().await;
    let result = server.call("well", json!({})).await;
    assert_eq!(result.expect("a result"), "well");
    assert_eq!(
        server.capabilities()[0].description,
        "All tools of Scripted tools"
    );
}

#[tokio::test]
async fn changes_are_reported_to_subscribers() {
    let server = Fixture::scripted("newest").wait_until_connected().await;
    server.call("add_tool", json!({})).await.expect("a result");
    server
        .wait_until("the new tool is offered", |server| {
            server
                .tools()
                .iter()
                .any(|tool| tool.name == "scripted/added")
        })
        .await;
}

#[tokio::test]
async fn an_exit_is_noticed_after_a_failed_subscription() {
    let server = Fixture::scripted("deaf").wait_until_connected().await;
    let exited = server.call("exit", json!({})).await;
    assert!(exited.is_err(), "{exited:?}");
    assert_eq!(server.wait_for_result("well").await, "well");
}
