//! Somebody else's server over HTTP.

use std::{
    net::TcpListener,
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use mcp_tools::McpTransport;
use ports::{ToolError, ToolProvider as _};
use serde_json::json;

use crate::ground::{Ground, everything, partners, text};

/// Somebody else's server; killed when dropped.
pub(crate) struct HttpPartner {
    port: u16,
    process: Child,
}

impl HttpPartner {
    /// On a port of its own, where it can be started again.
    pub(crate) fn start() -> Self {
        let port = own_port();
        Self {
            port,
            process: spawn(port),
        }
    }

    /// How it is reached.
    pub(crate) fn transport(&self) -> McpTransport {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        McpTransport::Http { url }
    }

    fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it was ours");
    }

    fn start_again(&mut self) {
        self.process = spawn(self.port);
    }
}

impl Drop for HttpPartner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that no other test takes, nor the system for connections: those begin at 32768.
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
        .arg(text(&partners().join("loopback.mjs")))
        .args([everything().as_str(), "streamableHttp"])
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("node starts")
}

#[tokio::test]
async fn answers_with_text() {
    let partner = HttpPartner::start();
    let server = Ground::of(partner.transport()).connected().await;
    let answer = server.call("echo", json!({ "message": "hello" })).await;
    assert_eq!(answer.expect("an answer"), "Echo: hello");
    let slow = json!({ "duration": 1, "steps": 2 });
    let answer = server.call("trigger-long-running-operation", slow).await;
    assert!(answer.expect("an answer").contains("completed"));
    server.stopped().await;
    assert!(server.tools().is_empty());
}

#[tokio::test]
async fn a_server_that_is_killed_in_the_middle_is_found_again() {
    let mut partner = HttpPartner::start();
    let server = Ground::of(partner.transport()).connected().await;
    for _ in 0..2 {
        let slow = json!({ "duration": 300, "steps": 300 });
        let call = server.call("trigger-long-running-operation", slow);
        let others = async {
            let echo = server
                .call("echo", json!({ "message": "still there" }))
                .await;
            assert_eq!(echo.expect("an answer"), "Echo: still there");
            partner.kill();
        };
        let (cut, ()) = tokio::join!(call, others);
        assert!(matches!(cut, Err(ToolError::Unavailable(_))), "{cut:?}");
        server
            .until("it is known to be away", |server| server.tools().is_empty())
            .await;
        assert!(server.capabilities().len() > 10);
        let refused = server.call("echo", json!({ "message": "anybody?" })).await;
        assert!(
            matches!(refused, Err(ToolError::Unavailable(_))),
            "{refused:?}"
        );
        partner.start_again();
        server
            .until("it is there again", |server| !server.tools().is_empty())
            .await;
        let echo = server.call("echo", json!({ "message": "again" })).await;
        assert_eq!(echo.expect("an answer"), "Echo: again");
    }
}

#[tokio::test]
async fn a_server_that_was_started_anew_unnoticed_is_connected_to_again() {
    let mut partner = HttpPartner::start();
    let server = Ground::of(partner.transport()).connected().await;
    partner.kill();
    partner.start_again();
    let start = Instant::now();
    let answer = server.answers_again("get-tiny-image").await;
    assert!(answer.contains("(an image, image/png)"), "{answer}");
    // Longer than any machine takes to start it, and shorter than a list is waited for.
    let took = start.elapsed();
    assert!(took < Duration::from_secs(9), "{took:?}");
}

#[tokio::test]
async fn a_call_that_nobody_took_says_nothing_of_the_address() {
    let mut partner = HttpPartner::start();
    let url = format!(
        "http://user:secret@127.0.0.1:{}/mcp?key=secret",
        partner.port
    );
    let server = Ground::of(McpTransport::Http { url }).connected().await;
    partner.kill();
    let answer = server.call("echo", json!({ "message": "hello" })).await;
    let Err(ToolError::Unavailable(reason)) = answer else {
        panic!("it is there: {answer:?}");
    };
    assert_eq!(
        format!("{reason} {reason:?}").matches("secret").count(),
        0,
        "{reason}"
    );
}
