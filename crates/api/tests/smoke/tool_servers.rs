//! How the service ends when a server of tools does not want to.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    process::{Running, folder, service},
    talk::key,
};

/// Does neither end when its input does nor when it is told to.
const STUBBORN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../adapters/mcp/tests/partners/scripted.mjs stubborn"
);

#[tokio::test]
async fn the_store_is_left_in_order_however_long_a_server_of_tools_takes() {
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
    let running = Running::of(service(folder.path(), &["serve"], &variables));
    until_there(&running.url, &key).await;
    running.stop();
    let (code, told) = running.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("did not end in time"), "{told}");
    let store = folder.path().join("data/agent-service.db");
    assert!(store.is_file());
    assert!(!store.with_extension("db-wal").exists());
}

/// Waits until the server of tools is connected.
async fn until_there(url: &str, key: &str) {
    let since = Instant::now();
    loop {
        let request = reqwest::Client::new().get(format!("{url}/api/capabilities"));
        let answer = request.header("X-API-Key", key).send().await;
        let told: Value = answer.expect("an answer").json().await.expect("JSON");
        let mut capabilities = told["data"].as_array().expect("a list").iter();
        let is_there = |it: &Value| it["name"] == "stubborn" && it["available"] == true;
        if capabilities.any(is_there) {
            return;
        }
        assert!(since.elapsed() < Duration::from_mins(1), "{told}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
