//! Servers that exit, restart, never start, or refuse to exit.

use std::{collections::BTreeMap, path::Path, time::Duration};

use mcp_tools::{McpTransport, Program};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ports::{ToolError, ToolProvider as _};
use serde_json::json;
use tokio::time::Instant;

use crate::fixture::{Fixture, wait_until};

#[tokio::test]
async fn a_process_that_exits_is_restarted() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    for _ in 0..3 {
        let names: Vec<_> = server
            .capabilities()
            .into_iter()
            .map(|info| info.name)
            .collect();
        let (exited, hanging) = tokio::join!(
            server.call("exit", json!({})),
            server.call("hang", json!({})),
        );
        assert!(matches!(exited, Err(ToolError::Lost(_))), "{exited:?}");
        assert!(matches!(hanging, Err(ToolError::Lost(_))), "{hanging:?}");
        let now = server.capabilities();
        assert!(now.iter().map(|info| &info.name).eq(&names), "{now:?}");
        assert_eq!(server.wait_for_result("well").await, "well");
    }
}

#[tokio::test]
async fn an_exit_is_noticed_while_a_child_holds_the_output() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    let start = Instant::now();
    let exited = server.call("exit_but_for_a_child", json!({})).await;
    assert!(matches!(exited, Err(ToolError::Lost(_))), "{exited:?}");
    assert_eq!(server.wait_for_result("well").await, "well");
    // The child outlives this limit.
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
    let notes = server.notes();
    let child = notes.trim().trim_start_matches("left ");
    assert!(is_running(child), "{notes}");
    let child = child.parse().expect("a number");
    kill(Pid::from_raw(child), Signal::SIGKILL).expect("it is running");
}

#[tokio::test]
async fn a_disconnected_server_has_unavailable_capabilities_and_no_tools() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    server.stop().await;
    assert!(server.tools().is_empty());
    let capabilities = server.capabilities();
    assert_eq!(capabilities.len(), 17);
    assert!(capabilities.iter().all(|info| !info.is_available));
    assert_eq!(capabilities[0].description, "All tools of Scripted tools");
    let result = server.call("well", json!({})).await;
    let Err(ToolError::Unavailable(reason)) = result else {
        panic!("it is connected: {result:?}");
    };
    assert_eq!(reason.to_string(), "the MCP server is not connected");
}

#[tokio::test]
async fn a_server_that_floods_requests_is_disconnected() {
    let server = Fixture::scripted("well").wait_until_connected().await;
    let result = server.call("flood", json!({})).await;
    assert!(matches!(result, Err(ToolError::Lost(_))), "{result:?}");
    assert_eq!(server.wait_for_result("well").await, "well");
}

#[tokio::test]
async fn a_silent_server_blocks_nothing() {
    let server = Fixture::scripted("silent");
    let capabilities = server.capabilities();
    assert_eq!(capabilities.len(), 1);
    assert!(!capabilities[0].is_available);
    assert!(server.tools().is_empty());
    let result = server.call("well", json!({})).await;
    assert!(
        matches!(result, Err(ToolError::Unavailable(_))),
        "{result:?}"
    );
    let start = Instant::now();
    server.stop().await;
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_missing_program_makes_the_server_unavailable() {
    let server = Fixture::new(McpTransport::Process(Program {
        command: "/there/is/no/such/program".to_owned(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
    }));
    assert!(!server.capabilities()[0].is_available);
    server.stop().await;
    assert!(server.tools().is_empty());
}

#[tokio::test]
async fn stopping_ends_the_whole_process_group() {
    for behaviour in ["well", "stubborn"] {
        let server = Fixture::scripted(behaviour).wait_until_connected().await;
        let reply = server.call("parent", json!({})).await.expect("a result");
        let processes: Vec<&str> = reply.split(' ').collect();
        assert_eq!(processes.len(), 2, "{reply}");
        assert!(processes.iter().all(|id| is_running(id)), "{reply}");
        server.stop().await;
        wait_until("no process is left", || {
            !processes.iter().any(|id| is_running(id))
        })
        .await;
    }
}

#[tokio::test]
async fn stopping_during_the_connection_leaves_no_process() {
    let server = Fixture::scripted("silent");
    server
        .wait_until("it runs", |_| server.notes().ends_with('\n'))
        .await;
    let notes = server.notes();
    let processes: Vec<&str> = notes.trim().split(' ').skip(1).collect();
    assert!(processes.iter().all(|id| is_running(id)), "{notes}");
    server.stop().await;
    let leader = Path::new("/proc").join(processes[0]);
    wait_until("the leader was waited for", || !leader.exists()).await;
    wait_until("no process is left", || {
        !processes.iter().any(|id| is_running(id))
    })
    .await;
}

/// Returns whether a process runs. An exited process is a zombie until it is waited for.
fn is_running(id: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(id).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
