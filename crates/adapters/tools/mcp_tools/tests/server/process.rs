//! The reference server in a child process.

use ports::{CapabilityKind, ToolProvider as _};
use serde_json::json;

use crate::fixture::{Fixture, everything_process};

async fn everything() -> Fixture {
    Fixture::new(everything_process())
        .wait_until_connected()
        .await
}

#[tokio::test]
async fn tools_are_capabilities_under_the_name_of_the_server() {
    let server = everything().await;
    let capabilities = server.capabilities();
    let first = &capabilities[0];
    assert_eq!(
        (first.name.as_str(), first.kind),
        ("everything", CapabilityKind::Server)
    );
    assert!(first.is_available);
    assert!(
        first.description.contains("Everything"),
        "{}",
        first.description
    );
    let echo = capabilities
        .iter()
        .find(|capability| capability.name == "everything/echo")
        .expect("a tool");
    assert_eq!((echo.kind, echo.is_available), (CapabilityKind::Tool, true));
    assert_eq!(echo.description, "Echoes back the input string");
    let tools = server.tools();
    let tool = tools.iter().find(|tool| tool.name == "everything/echo");
    let schema = &tool.expect("a tool").input_schema;
    assert_eq!(schema["properties"]["message"]["type"], "string");
}

#[tokio::test]
async fn a_call_returns_text() {
    let server = everything().await;
    let result = server.call("echo", json!({ "message": "hello" })).await;
    assert_eq!(result.expect("a result"), "Echo: hello");
    let result = server.call("get-sum", json!({ "a": 2, "b": 3 })).await;
    assert!(result.expect("a result").contains('5'));
}

#[tokio::test]
async fn images_and_resources_are_named() {
    let server = everything().await;
    let result = server.call("get-tiny-image", json!({})).await;
    let result = result.expect("a result");
    assert!(result.contains("\n(an image, image/png)\n"), "{result}");
    let result = server
        .call("get-resource-links", json!({ "count": 1 }))
        .await;
    let result = result.expect("a result");
    assert!(result.contains("\n(a link to the resource "), "{result}");
}

#[tokio::test]
async fn slow_tools_are_awaited() {
    let server = everything().await;
    let slow = json!({ "duration": 1, "steps": 2 });
    let result = server.call("trigger-long-running-operation", slow).await;
    assert!(result.expect("a result").contains("completed"));
}

#[tokio::test]
async fn the_process_inherits_no_secrets() {
    let server = everything().await;
    let reply = server.call("get-env", json!({})).await.expect("a result");
    let reply: serde_json::Value = serde_json::from_str(&reply).expect("JSON");
    let variables = reply.as_object().expect("variables");
    assert_eq!(variables["TOKEN"], "of-the-server");
    assert!(variables.contains_key("PATH"));
    let ours = std::env::vars_os().count();
    assert!(ours > 11, "there is nothing to keep secret here");
    assert!(!variables.contains_key("TEST_CLIENTS"), "{variables:?}");
    assert!(
        !variables.keys().any(|name| name.starts_with("CARGO")),
        "{variables:?}"
    );
    assert!(variables.len() <= 11, "{variables:?}");
}
