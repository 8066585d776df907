//! Servers that go, come back, never come, or do not want to go.

use std::{collections::BTreeMap, path::Path, time::Duration};

use mcp_tools::{McpTransport, Program};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ports::{ToolError, ToolProvider as _};
use serde_json::json;
use tokio::time::Instant;

use crate::ground::{Ground, eventually};

#[tokio::test]
async fn a_process_that_ends_is_started_again() {
    let server = Ground::scripted("well").connected().await;
    for _ in 0..3 {
        let names: Vec<_> = server
            .capabilities()
            .into_iter()
            .map(|told| told.name)
            .collect();
        let (gone, hanging) = tokio::join!(
            server.call("exit", json!({})),
            server.call("hang", json!({})),
        );
        assert!(matches!(gone, Err(ToolError::Unavailable(_))), "{gone:?}");
        assert!(
            matches!(hanging, Err(ToolError::Unavailable(_))),
            "{hanging:?}"
        );
        let now = server.capabilities();
        assert!(now.iter().map(|told| &told.name).eq(&names), "{now:?}");
        assert_eq!(server.answers_again("well").await, "well");
    }
}

#[tokio::test]
async fn a_process_has_ended_though_a_child_of_it_holds_its_output() {
    let server = Ground::scripted("well").connected().await;
    let start = Instant::now();
    let gone = server.call("exit_but_for_a_child", json!({})).await;
    assert!(matches!(gone, Err(ToolError::Unavailable(_))), "{gone:?}");
    assert_eq!(server.answers_again("well").await, "well");
    // The child lives longer.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    let notes = server.notes();
    let child = notes.trim().trim_start_matches("left ");
    assert!(is_running(child), "{notes}");
    let child = child.parse().expect("a number");
    kill(Pid::from_raw(child), Signal::SIGKILL).expect("it is there");
}

#[tokio::test]
async fn while_it_is_away_there_are_no_tools_but_capabilities_that_are_not_available() {
    let server = Ground::scripted("well").connected().await;
    server.stopped().await;
    assert!(server.tools().is_empty());
    let capabilities = server.capabilities();
    assert_eq!(capabilities.len(), 16);
    assert!(capabilities.iter().all(|told| !told.is_available));
    assert_eq!(capabilities[0].description, "All tools of Scripted tools");
    let answer = server.call("well", json!({})).await;
    let Err(ToolError::Unavailable(reason)) = answer else {
        panic!("it is there: {answer:?}");
    };
    assert_eq!(
        reason.to_string(),
        "there is no connection to the server of tools"
    );
}

#[tokio::test]
async fn a_server_that_floods_requests_is_disconnected() {
    let server = Ground::scripted("well").connected().await;
    let answer = server.call("flood", json!({})).await;
    assert!(
        matches!(answer, Err(ToolError::Unavailable(_))),
        "{answer:?}"
    );
    assert_eq!(server.answers_again("well").await, "well");
}

#[tokio::test]
async fn a_server_that_says_nothing_holds_up_nobody() {
    let server = Ground::scripted("silent");
    let capabilities = server.capabilities();
    assert_eq!(capabilities.len(), 1);
    assert!(!capabilities[0].is_available);
    assert!(server.tools().is_empty());
    let answer = server.call("well", json!({})).await;
    assert!(
        matches!(answer, Err(ToolError::Unavailable(_))),
        "{answer:?}"
    );
    let start = Instant::now();
    server.stopped().await;
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_a_server_that_is_away() {
    let server = Ground::of(McpTransport::Process(Program {
        command: "/there/is/no/such/program".to_owned(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
    }));
    assert!(!server.capabilities()[0].is_available);
    server.stopped().await;
    assert!(server.tools().is_empty());
}

#[tokio::test]
async fn a_process_has_ended_with_all_that_it_started_once_it_is_stopped() {
    for behaviour in ["well", "stubborn"] {
        let server = Ground::scripted(behaviour).connected().await;
        let told = server.call("parent", json!({})).await.expect("an answer");
        let processes: Vec<&str> = told.split(' ').collect();
        assert_eq!(processes.len(), 2, "{told}");
        assert!(processes.iter().all(|id| is_running(id)), "{told}");
        server.stopped().await;
        eventually("nobody is left", || {
            !processes.iter().any(|id| is_running(id))
        })
        .await;
    }
}

#[tokio::test]
async fn a_process_that_is_stopped_while_it_is_connected_to_leaves_nothing() {
    let server = Ground::scripted("silent");
    server
        .until("it runs", |_| server.notes().ends_with('\n'))
        .await;
    let notes = server.notes();
    let processes: Vec<&str> = notes.trim().split(' ').skip(1).collect();
    assert!(processes.iter().all(|id| is_running(id)), "{notes}");
    server.stopped().await;
    let leader = Path::new("/proc").join(processes[0]);
    eventually("it is no zombie", || !leader.exists()).await;
    eventually("nobody is left", || {
        !processes.iter().any(|id| is_running(id))
    })
    .await;
}

/// A process that has ended is a zombie until somebody asks how; whoever adopts it does.
fn is_running(id: &str) -> bool {
    let told = std::fs::read_to_string(Path::new("/proc").join(id).join("stat"));
    told.is_ok_and(|stat| !stat.contains(") Z "))
}
