//! A misbehaving server over HTTP.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use mcp_tools::{HttpEndpoint, McpIntervals, McpTransport};
use ports::{ToolError, ToolProvider as _};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::timeout};

use crate::fixture::{Fixture, TEST_TIMEOUT, servers_dir};

/// The scripted server, killed when dropped.
pub(crate) struct Web {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Web {
    /// Starts the server and connects to it.
    async fn start() -> (Self, Fixture) {
        Self::start_as(&[]).await
    }

    /// Like [`Self::start`], with this behaviour.
    async fn start_as(behaviour: &[&str]) -> (Self, Fixture) {
        let mut web = Self::spawn(behaviour);
        let server = Fixture::new(web.transport()).wait_until_connected().await;
        (web, server)
    }

    pub(crate) fn spawn(behaviour: &[&str]) -> Self {
        let mut process = Command::new("node")
            .arg(servers_dir().join("web.mjs"))
            .args(behaviour)
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, output }
    }

    /// The server, whose first line of output is its port.
    pub(crate) fn endpoint(&mut self) -> HttpEndpoint {
        HttpEndpoint::new(format!("http://127.0.0.1:{}/mcp", self.next_line()))
    }

    fn transport(&mut self) -> McpTransport {
        McpTransport::Http(self.endpoint())
    }

    /// Returns the next line of output.
    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line of output");
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
async fn a_result_of_up_to_a_mebibyte_is_complete(#[case] tool: &str) {
    let (_web, server) = Web::start().await;
    let bytes = 1024 * 1024 - 200;
    let result = server.call(tool, json!({ "bytes": bytes })).await;
    assert_eq!(result.expect("a result").len(), bytes);
}

#[rstest]
#[case("large_answer", 2)]
#[case("large_answer", 32)]
#[case("large_stream", 2)]
#[case("large_stream", 32)]
#[case("large_after_progress", 5)]
#[tokio::test]
async fn a_larger_result_fails_only_that_call(#[case] tool: &str, #[case] mebibytes: usize) {
    let (_web, server) = Web::start().await;
    let large = json!({ "bytes": mebibytes * 1024 * 1024 });
    let result = server.call(tool, large).await;
    let Err(ToolError::Unreadable(reason)) = result else {
        panic!("no failure: {result:?}");
    };
    assert_eq!(reason, "its result is too large");
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("a result"), "well");
}

#[tokio::test]
async fn one_failed_call_does_not_remove_the_tools() {
    let (_web, server) = Web::start().await;
    let result = server.call("overloaded", json!({})).await;
    let Err(ToolError::Lost(reason)) = result else {
        panic!("it returned: {result:?}");
    };
    let reason = reason.to_string();
    assert_eq!(reason, "the MCP server is unreachable: HTTP 503");
    assert!(!server.tools().is_empty());
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("a result"), "well");
}

#[tokio::test]
async fn only_an_unknown_session_is_reconnected() {
    let (_web, server) = Web::start().await;
    let denied = server.call("deny", json!({})).await;
    assert!(
        matches!(&denied, Err(ToolError::Failed(reason)) if reason == "the disk has no room"),
        "{denied:?}"
    );
    let rejected = server.call("refuse", json!({})).await;
    assert!(
        matches!(&rejected, Err(ToolError::InvalidArguments(reason)) if reason == "there is no such city"),
        "{rejected:?}"
    );
    let forgotten = server.call("forget_always", json!({})).await;
    assert!(
        matches!(forgotten, Err(ToolError::Unavailable(_))),
        "{forgotten:?}"
    );
}

#[rstest]
#[case("code")]
#[case("other_code")]
#[case("message")]
#[case("not_found")]
#[case("gone")]
#[case("text")]
#[tokio::test]
async fn a_call_in_an_unknown_session_is_repeated_in_a_new_one(#[case] how: &str) {
    let (_web, server) = Web::start().await;
    let result = server.call("forget", json!({ "how": how })).await;
    assert_eq!(result.expect("a result"), "in session 2");
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let (mut web, server) = Web::start().await;
    let result = server.call("moved", json!({})).await;
    assert!(
        matches!(result, Err(ToolError::Unavailable(_))),
        "{result:?}"
    );
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("a result"), "well");
    web.process.kill().expect("it runs");
    assert_eq!(web.next_line(), "", "it received another request");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let (web, server) = Web::start().await;
    let hanging = server.call("hang", json!({}));
    let first = tokio::select! {
        result = hanging => panic!("it returned: {result:?}"),
        output = next(web) => output,
    };
    let (output, web) = first;
    assert_eq!(output, "hangs");
    let (output, _web) = next(web).await;
    assert!(output.starts_with("cancelled"), "{output}");
}

/// Returns the next line of output, without blocking the runtime.
async fn next(mut web: Web) -> (String, Web) {
    let output = spawn_blocking(move || (web.next_line(), web));
    let output = timeout(TEST_TIMEOUT, output)
        .await
        .expect("a line of output");
    output.expect("no panic")
}

#[rstest]
#[case("accept", "it accepted a request without responding to it")]
#[case("mistake", "its response is for another request")]
#[tokio::test]
async fn a_call_without_a_valid_response_fails_at_once(#[case] tool: &str, #[case] why: &str) {
    let (_web, server) = Web::start().await;
    let result = server.call(tool, json!({})).await;
    let Err(ToolError::Lost(reason)) = result else {
        panic!("it returned: {result:?}");
    };
    assert!(reason.to_string().ends_with(why), "{reason}");
    let well = server.call("well", json!({})).await;
    assert_eq!(well.expect("a result"), "well");
}

#[tokio::test]
async fn an_id_may_be_a_string() {
    let (_web, server) = Web::start().await;
    let result = server.call("mistake_in_text", json!({})).await;
    assert_eq!(result.expect("a result"), "well");
}

#[rstest]
#[case("hasty")]
#[case("broken")]
#[tokio::test]
async fn streams_are_reopened_after_a_pause(#[case] behaviour: &str) {
    let (web, server) = Web::start_as(&[behaviour]).await;
    // The server's own stream. The next one is the same again, or resumes that of the call.
    let (first, web) = next(web).await;
    let again = tokio::select! {
        result = server.call("hurry", json!({})) => panic!("it returned: {result:?}"),
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
    let result = server.call("flood", json!({})).await;
    assert!(matches!(result, Err(ToolError::Lost(_))), "{result:?}");
    assert_eq!(server.wait_for_result("well").await, "well");
}

#[tokio::test]
async fn a_dead_idle_server_becomes_unavailable() {
    let every_15_seconds = McpIntervals::default().refresh;
    assert_eq!(every_15_seconds, Duration::from_secs(15));
    let mut web = Web::spawn(&[]);
    let server = Fixture::listed_often(web.transport())
        .wait_until_connected()
        .await;
    web.process.kill().expect("it runs");
    server
        .wait_until("it is unavailable", |server| server.tools().is_empty())
        .await;
}

/// The time of a request by the server's clock, in milliseconds.
fn time_of(output: &str) -> u64 {
    let time = output.strip_prefix("listens ").expect("a time");
    time.parse().expect("a number")
}

#[rstest]
#[case::no_answer(json!({"how": "destroy"}))]
#[case::half_an_answer(json!({"how": "cut"}))]
#[case::no_text(json!({"how": "empty"}))]
#[case::not_utf8(json!({"how": "bytes"}))]
#[case::a_page(json!({"how": "page"}))]
#[case::a_time_out(json!({"status": 408}))]
#[case::an_error(json!({"status": 500}))]
#[case::an_error_of_a_proxy(json!({"status": 502}))]
#[tokio::test]
async fn a_call_whose_answer_is_lost_may_have_taken_effect(#[case] arguments: Value) {
    let (_web, server) = Web::start().await;
    let result = server.call("lose", arguments).await;
    assert!(matches!(result, Err(ToolError::Lost(_))), "{result:?}");
}

#[rstest]
#[case(400)]
#[case(401)]
#[case(403)]
#[case(409)]
#[case(429)]
#[tokio::test]
async fn a_call_that_is_refused_has_no_effect(#[case] status: u16) {
    let (_web, server) = Web::start().await;
    let result = server.call("lose", json!({ "status": status })).await;
    assert!(
        matches!(result, Err(ToolError::Unavailable(_))),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_result_without_content_cannot_be_read() {
    let (_web, server) = Web::start().await;
    let result = server.call("lose", json!({ "how": "nothing" })).await;
    assert!(
        matches!(result, Err(ToolError::Unreadable(_))),
        "{result:?}"
    );
}
