//! Shutdown with an unresponsive tool server.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    chat_client::key,
    process::{RunningService, folder, service},
};

/// Ends neither at the end of its input nor on a signal.
const STUBBORN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../adapters/mcp/tests/servers/scripted.mjs stubborn"
);

#[tokio::test]
async fn a_slow_tool_server_does_not_prevent_a_clean_store() {
    let folder = folder();
    let key = key(folder.path());
    #[expect(clippy::disallowed_methods, reason = "where node is")]
    let path = std::env::var("PATH").expect("a path");
    let variables = [
        ("SERVER__PORT", "0"),
        ("AUTH__BOOTSTRAP_KEY", &*key),
        ("PATH", &path),
        ("MCP__SERVERS__STUBBORN__COMMAND", "node"),
        ("MCP__SERVERS__STUBBORN__ARGS", STUBBORN),
    ];
    let running = RunningService::of(service(folder.path(), &["serve"], &variables));
    until_there(&running.url, &key).await;
    running.stop();
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(!output.contains("did not end in time"), "{output}");
    let store = folder.path().join("data/agent-service.db");
    assert!(store.is_file());
    assert!(!store.with_extension("db-wal").exists());
}

/// Waits until the tool server is connected.
async fn until_there(url: &str, key: &str) {
    let since = Instant::now();
    loop {
        let request = reqwest::Client::new().get(format!("{url}/api/capabilities"));
        let response = request.header("X-API-Key", key).send().await;
        let output: Value = response.expect("an answer").json().await.expect("JSON");
        let mut capabilities = output["data"].as_array().expect("a list").iter();
        let is_there = |it: &Value| it["name"] == "stubborn" && it["available"] == true;
        if capabilities.any(is_there) {
            return;
        }
        assert!(since.elapsed() < Duration::from_mins(1), "{output}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
