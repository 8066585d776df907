//! Somebody else's server in a process.

use ports::{CapabilityKind, ToolProvider as _};
use serde_json::json;

use crate::ground::{Ground, everything_as_a_process};

async fn everything() -> Ground {
    Ground::of(everything_as_a_process()).connected().await
}

#[tokio::test]
async fn its_tools_are_capabilities_under_its_name() {
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
async fn answers_with_text() {
    let server = everything().await;
    let answer = server.call("echo", json!({ "message": "hello" })).await;
    assert_eq!(answer.expect("an answer"), "Echo: hello");
    let answer = server.call("get-sum", json!({ "a": 2, "b": 3 })).await;
    assert!(answer.expect("an answer").contains('5'));
}

#[tokio::test]
async fn names_images_and_resources() {
    let server = everything().await;
    let answer = server.call("get-tiny-image", json!({})).await;
    let answer = answer.expect("an answer");
    assert!(answer.contains("\n(an image, image/png)\n"), "{answer}");
    let answer = server
        .call("get-resource-links", json!({ "count": 1 }))
        .await;
    let answer = answer.expect("an answer");
    assert!(answer.contains("\n(a link to the resource "), "{answer}");
}

#[tokio::test]
async fn waits_for_a_slow_tool() {
    let server = everything().await;
    let slow = json!({ "duration": 1, "steps": 2 });
    let answer = server.call("trigger-long-running-operation", slow).await;
    assert!(answer.expect("an answer").contains("completed"));
}

#[tokio::test]
async fn the_process_gets_its_own_variables_and_none_of_our_secrets() {
    let server = everything().await;
    let told = server.call("get-env", json!({})).await.expect("an answer");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let variables = told.as_object().expect("variables");
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
