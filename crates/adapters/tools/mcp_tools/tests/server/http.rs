//! The reference server over HTTP.

use std::{
    net::TcpListener,
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use mcp_tools::{HttpEndpoint, McpTransport};
use ports::{ToolError, ToolProvider as _};
use serde_json::json;

use crate::fixture::{Fixture, everything, servers_dir, text};

/// The reference server, killed when dropped.
pub(crate) struct HttpServer {
    port: u16,
    process: Child,
}

impl HttpServer {
    /// Starts it on its own port, where it can be restarted.
    pub(crate) fn start() -> Self {
        let port = own_port();
        Self {
            port,
            process: spawn(port),
        }
    }

    /// The transport of the server.
    pub(crate) fn transport(&self) -> McpTransport {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        McpTransport::Http(HttpEndpoint::new(url))
    }

    fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it was ours");
    }

    fn start_again(&mut self) {
        self.process = spawn(self.port);
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that neither another test nor the system uses; ephemeral ports start at 32768.
fn own_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = process::id() * 8 + TAKEN.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(10_000 + number % 20_000).expect("below 65536");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn spawn(port: u16) -> Child {
    Command::new("node")
        .arg("--import")
        .arg(text(&servers_dir().join("loopback.mjs")))
        .args([everything().as_str(), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("node starts")
}

#[tokio::test]
async fn a_call_returns_text() {
    let http_server = HttpServer::start();
    let server = Fixture::new(http_server.transport())
        .wait_until_connected()
        .await;
    let result = server.call("echo", json!({ "message": "hello" })).await;
    assert_eq!(result.expect("a result"), "Echo: hello");
    let slow = json!({ "duration": 1, "steps": 2 });
    let result = server.call("trigger-long-running-operation", slow).await;
    assert!(result.expect("a result").contains("completed"));
    server.stop().await;
    assert!(server.tools().is_empty());
}

#[tokio::test]
async fn a_killed_server_is_reconnected() {
    let mut http_server = HttpServer::start();
    let server = Fixture::new(http_server.transport())
        .wait_until_connected()
        .await;
    for _ in 0..2 {
        let slow = json!({ "duration": 300, "steps": 300 });
        let call = server.call("trigger-long-running-operation", slow);
        let others = async {
            let echo = server
                .call("echo", json!({ "message": "still there" }))
                .await;
            assert_eq!(echo.expect("a result"), "Echo: still there");
            http_server.kill();
        };
        let (cut, ()) = tokio::join!(call, others);
        assert!(matches!(cut, Err(ToolError::Lost(_))), "{cut:?}");
        server
            .wait_until("the server is disconnected", |server| {
                server.tools().is_empty()
            })
            .await;
        assert!(server.capabilities().len() > 10);
        let rejected = server.call("echo", json!({ "message": "anybody?" })).await;
        assert!(
            matches!(rejected, Err(ToolError::Unavailable(_))),
            "{rejected:?}"
        );
        http_server.start_again();
        server
            .wait_until("it is there again", |server| !server.tools().is_empty())
            .await;
        let echo = server.call("echo", json!({ "message": "again" })).await;
        assert_eq!(echo.expect("a result"), "Echo: again");
    }
}

#[tokio::test]
async fn a_server_that_was_restarted_unnoticed_is_reconnected() {
    let mut http_server = HttpServer::start();
    let server = Fixture::new(http_server.transport())
        .wait_until_connected()
        .await;
    http_server.kill();
    http_server.start_again();
    let start = Instant::now();
    let result = server.wait_for_result("get-tiny-image").await;
    assert!(result.contains("(an image, image/png)"), "{result}");
    // More than a restart takes, and less than the timeout of a listing.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(9), "{took:?}");
}

#[tokio::test]
async fn a_failed_call_does_not_reveal_the_address() {
    let mut http_server = HttpServer::start();
    let url = format!(
        "http://user:secret@127.0.0.1:{}/mcp?key=secret",
        http_server.port
    );
    let server = Fixture::new(McpTransport::Http(HttpEndpoint::new(url)))
        .wait_until_connected()
        .await;
    http_server.kill();
    let result = server.call("echo", json!({ "message": "hello" })).await;
    // It may have been sent on the old connection.
    let Err(ToolError::Unavailable(reason) | ToolError::Lost(reason)) = result else {
        panic!("it is connected: {result:?}");
    };
    assert_eq!(
        format!("{reason} {reason:?}").matches("secret").count(),
        0,
        "{reason}"
    );
}
