//! Tool servers that are programs.

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    chat_client::key,
    process::{RunningService, first_process, folder, service, signal},
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Ends neither at the end of its input nor on a signal.
const STUBBORN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../adapters/tools/mcp_tools/tests/servers/scripted.mjs stubborn"
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
    wait_until_connected(&running.url, &key).await;
    running.stop();
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(!output.contains("did not end in time"), "{output}");
    let store = folder.path().join("data/agent-service.db");
    assert!(store.is_file());
    assert!(!store.with_extension("db-wal").exists());
}

#[tokio::test]
async fn as_process_1_the_service_reaps_orphans() {
    let folder = folder();
    let key = key(folder.path());
    // Starts processes whose parent ends at once, and then becomes the server.
    let script = format!("(while :; do (sleep 0.05 &); sleep 0.1; done) & exec node {STUBBORN}");
    let arguments = format!("-c '{script}'");
    #[expect(clippy::disallowed_methods, reason = "where node is")]
    let path = std::env::var("PATH").expect("a path");
    let variables = [
        ("SERVER__PORT", "0"),
        ("SERVER__DRAIN_SECONDS", "0"),
        ("AUTH__BOOTSTRAP_KEY", &*key),
        ("PATH", &path),
        ("MCP__SERVERS__STUBBORN__COMMAND", "sh"),
        ("MCP__SERVERS__STUBBORN__ARGS", &arguments),
    ];
    let running = RunningService::of(first_process(folder.path(), &variables));
    wait_until_connected(&running.url, &key).await;
    let first = children(running.process.id(), |_| true);
    let service = first.into_iter().next().expect("the service");
    let zombies = || children(service, |state| state == "Z");
    let since = Instant::now();
    let mut seen = BTreeSet::new();
    let mut reaped = 0;
    while reaped < 20 {
        assert!(
            since.elapsed() < TIMEOUT,
            "{reaped} reaped, {} left",
            seen.len()
        );
        let now = zombies();
        reaped += seen.difference(&now).count();
        seen = now;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    signal(service, &["TERM"]);
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
}

/// The children of a process with a state, such as `Z` for zombies.
fn children(parent: u32, has_state: impl Fn(&str) -> bool) -> BTreeSet<u32> {
    let processes = fs::read_dir("/proc").expect("a list").filter_map(|entry| {
        let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // After the name, which is in parentheses: the state and the id of the parent.
        let mut rest = stat.rsplit_once(") ")?.1.split(' ');
        let is_one = has_state(rest.next()?) && rest.next()?.parse() == Ok(parent);
        is_one.then_some(id)
    });
    processes.collect()
}

/// Waits until the tool server is connected.
async fn wait_until_connected(url: &str, key: &str) {
    let since = Instant::now();
    loop {
        let request = reqwest::Client::new().get(format!("{url}/api/capabilities"));
        let response = request.header("X-API-Key", key).send().await;
        let output: Value = response.expect("an answer").json().await.expect("JSON");
        let mut capabilities = output["data"].as_array().expect("a list").iter();
        let is_available = |it: &Value| it["name"] == "stubborn" && it["available"] == true;
        if capabilities.any(is_available) {
            return;
        }
        assert!(since.elapsed() < TIMEOUT, "{output}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
