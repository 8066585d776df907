//! A server over HTTP that does what servers should not do but will.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use mcp_tools::{McpTimes, McpTransport};
use ports::{ToolError, ToolProvider as _};
use rstest::rstest;
use serde_json::json;
use tokio::{task::spawn_blocking, time::timeout};

use crate::ground::{Ground, PATIENCE, partners};

/// The scripted server; killed when dropped.
struct Web {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Web {
    /// Starts it, and connects to it.
    async fn start() -> (Self, Ground) {
        Self::start_as(&[]).await
    }

    /// The same, behaving in its way.
    async fn start_as(behaviour: &[&str]) -> (Self, Ground) {
        let mut web = Self::spawn(behaviour);
        let server = Ground::of(web.transport()).connected().await;
        (web, server)
    }

    fn spawn(behaviour: &[&str]) -> Self {
        let mut process = Command::new("node")
            .arg(partners().join("web.mjs"))
            .args(behaviour)
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let said = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, said }
    }

    /// How it is reached. Its port is the first line that it says.
    fn transport(&mut self) -> McpTransport {
        let url = format!("http://127.0.0.1:{}/mcp", self.says());
        McpTransport::Http { url }
    }

    /// The next line that it says.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it says something");
        line.trim_end().to_owned()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[rstest]
#[case("large_answer")]
#[case("large_stream")]
#[tokio::test]
async fn an_answer_of_up_to_a_mebibyte_is_whole(#[case] tool: &str) {
    let (_web, server) = Web::start().await;
    let bytes = 1024 * 1024 - 200;
    let answer = server.call(tool, json!({ "bytes": bytes })).await;
    assert_eq!(answer.expect("an answer").len(), bytes);
}

#[rstest]
#[case("large_answer", 2)]
#[case("large_answer", 32)]
#[case("large_stream", 2)]
#[case("large_stream", 32)]
#[case("large_after_progress", 5)]
#[tokio::test]
async fn a_larger_answer_fails_that_call_and_no_other(
    #[case] tool: &str,
    #[case] mebibytes: usize,
) {
    let (_web, server) = Web::start().await;
    let large = json!({ "bytes": mebibytes * 1024 * 1024 });
    let answer = server.call(tool, large).await;
    let Err(ToolError::Failed(reason)) = answer else {
        panic!("no failure: {answer:?}");
    };
    assert_eq!(reason, "its answer is too large");
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("an answer"), "well");
}

#[tokio::test]
async fn a_server_that_is_overloaded_once_keeps_its_tools() {
    let (_web, server) = Web::start().await;
    let answer = server.call("overloaded", json!({})).await;
    let Err(ToolError::Unavailable(reason)) = answer else {
        panic!("it answers: {answer:?}");
    };
    let reason = reason.to_string();
    assert_eq!(reason, "the server of tools cannot be reached: HTTP 503");
    assert!(!server.tools().is_empty());
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("an answer"), "well");
}

#[tokio::test]
async fn only_who_refuses_a_session_does_not_know_it() {
    let (_web, server) = Web::start().await;
    let denied = server.call("deny", json!({})).await;
    assert!(
        matches!(&denied, Err(ToolError::Failed(reason)) if reason == "the disk has no room"),
        "{denied:?}"
    );
    let refused = server.call("refuse", json!({})).await;
    assert!(
        matches!(&refused, Err(ToolError::Refused(reason)) if reason == "there is no such city"),
        "{refused:?}"
    );
    let forgotten = server.call("forget", json!({})).await;
    assert!(
        matches!(forgotten, Err(ToolError::Unavailable(_))),
        "{forgotten:?}"
    );
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let (mut web, server) = Web::start().await;
    let answer = server.call("moved", json!({})).await;
    assert!(
        matches!(answer, Err(ToolError::Unavailable(_))),
        "{answer:?}"
    );
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("an answer"), "well");
    web.process.kill().expect("it runs");
    assert_eq!(web.says(), "", "it was asked for something else");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_at_the_server() {
    let (web, server) = Web::start().await;
    let hanging = server.call("hang", json!({}));
    let begun = tokio::select! {
        answer = hanging => panic!("it answers: {answer:?}"),
        said = next(web) => said,
    };
    let (said, web) = begun;
    assert_eq!(said, "hangs");
    let (said, _web) = next(web).await;
    assert!(said.starts_with("cancelled"), "{said}");
}

/// The next line that it says, when it says one.
async fn next(mut web: Web) -> (String, Web) {
    let said = spawn_blocking(move || (web.says(), web));
    let said = timeout(PATIENCE, said).await.expect("it says something");
    said.expect("no panic")
}

#[rstest]
#[case("accept", "it takes what it is asked and does not answer")]
#[case("mistake", "it answers what it was not asked")]
#[tokio::test]
async fn nobody_waits_for_an_answer_that_does_not_come(#[case] tool: &str, #[case] why: &str) {
    let (_web, server) = Web::start().await;
    let answer = server.call(tool, json!({})).await;
    let Err(ToolError::Unavailable(reason)) = answer else {
        panic!("it answers: {answer:?}");
    };
    assert!(reason.to_string().ends_with(why), "{reason}");
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("an answer"), "well");
}

#[tokio::test]
async fn a_number_may_be_written_as_text() {
    let (_web, server) = Web::start().await;
    let answer = server.call("mistake_in_text", json!({})).await;
    assert_eq!(answer.expect("an answer"), "well");
}

#[rstest]
#[case("hasty")]
#[case("broken")]
#[tokio::test]
async fn nobody_is_asked_without_a_pause(#[case] behaviour: &str) {
    let (web, server) = Web::start_as(&[behaviour]).await;
    // The stream of what nobody asked for; the next is the same again, or goes on with the call's.
    let (first, web) = next(web).await;
    let again = tokio::select! {
        answer = server.call("hurry", json!({})) => panic!("it answers: {answer:?}"),
        (again, _web) = next(web) => again,
    };
    let paused = time_of(&again) - time_of(&first);
    assert!(paused >= 900, "{paused}");
}

#[rstest]
#[case("deep")]
#[case("deep_stream")]
#[tokio::test]
async fn a_schema_nested_too_deeply_does_not_affect_the_other_tools(#[case] behaviour: &str) {
    let (_web, server) = Web::start_as(&[behaviour]).await;
    let names = server.tool_names();
    assert!(names.iter().any(|name| name == "everything/well"));
    assert!(!names.iter().any(|name| name == "everything/deep"));
}

#[tokio::test]
async fn a_server_that_floods_requests_is_disconnected() {
    let (web, server) = Web::start_as(&["listening"]).await;
    let (listens, _web) = next(web).await;
    assert_eq!(listens, "listens");
    let answer = server.call("flood", json!({})).await;
    assert!(
        matches!(answer, Err(ToolError::Unavailable(_))),
        "{answer:?}"
    );
    assert_eq!(server.answers_again("well").await, "well");
}

#[tokio::test]
async fn a_dead_server_becomes_unavailable_though_nobody_calls_it() {
    let every_15_seconds = McpTimes::default().refresh;
    assert_eq!(every_15_seconds, Duration::from_secs(15));
    let mut web = Web::spawn(&[]);
    let server = Ground::asked_often(web.transport()).connected().await;
    web.process.kill().expect("it runs");
    server
        .until("it is unavailable", |server| server.tools().is_empty())
        .await;
}

/// When the server was asked, by its own clock, in milliseconds.
fn time_of(said: &str) -> u64 {
    let time = said.strip_prefix("listens ").expect("it is asked");
    time.parse().expect("a number")
}
