//! Chats while the database is stopped or frozen.

use std::time::{Duration, Instant};

use dev_tools::postgres::DurableServer;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    chat_client::{ChatClient, key, send_json, serving},
    process::{RunningService, folder},
};

/// The time within which every caller is answered.
const LIMIT: Duration = Duration::from_secs(5);

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A service on a server of its own, and an agent of each kind that has replied once.
struct Fixture {
    server: DurableServer,
    client: ChatClient,
    /// Messages to an agent whose replies are stored in one write, and to one whose turns are started.
    messages: Vec<Value>,
    _running: RunningService,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn start() -> Self {
        let folder = folder();
        let key = key(folder.path());
        let server = DurableServer::start().expect("a server");
        server.create("agents").expect("a database");
        let running = serving(folder.path(), &key, Some(&server.url("agents")));
        let client = ChatClient::new(&running, &key);
        let mut messages = Vec::new();
        for engine in ["rules", "scripted"] {
            let draft = json!({"name": "Ada", "config": {"engine": engine}});
            let (_, agent) = send_json(client.post("/api/agents", &draft)).await;
            let message = json!({"agentId": agent["id"], "message": "Hello"});
            assert_eq!(send_json(client.chat(&message)).await.0, 200);
            messages.push(message);
        }
        Self {
            server,
            client,
            messages,
            _running: running,
            _folder: folder,
        }
    }

    /// Sends a message eight times at once. All must be rejected in time.
    async fn expect_rejections(&self, message: &Value) {
        let chats = (0..8).map(async |_| {
            let started_at = Instant::now();
            let (status, _) = send_json(self.client.chat(message)).await;
            (status, started_at.elapsed())
        });
        let answers = join_all(chats).await;
        let is_in_time = |(status, took): &(u16, Duration)| *status == 503 && *took < LIMIT;
        assert!(answers.iter().all(is_in_time), "{answers:?}");
    }

    /// Waits until chats are answered again, and until all turns that were started are completed.
    async fn wait_for_replies(&self, message: &Value) {
        let began = Instant::now();
        while send_json(self.client.chat(message)).await.0 != 200 {
            assert!(began.elapsed() < TIMEOUT, "no reply");
        }
        loop {
            let log = self.client.log().await;
            let count = |event| log.iter().filter(|it| it["type"] == event).count();
            assert_eq!(count("turn.failed"), 0, "{log:?}");
            if count("turn.started") == count("turn.completed") {
                return;
            }
            assert!(began.elapsed() < TIMEOUT, "{log:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_chat_is_rejected_within_five_seconds_while_the_database_is_frozen() {
    let fixture = Fixture::start().await;
    for message in &fixture.messages {
        let frozen = fixture.server.freeze().expect("it is suspended");
        fixture.expect_rejections(message).await;
        drop(frozen);
        fixture.wait_for_replies(message).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_chat_is_rejected_within_five_seconds_while_the_database_is_stopped() {
    let fixture = Fixture::start().await;
    for message in &fixture.messages {
        fixture.server.stop().expect("it stops");
        fixture.expect_rejections(message).await;
        fixture.server.restart().expect("it starts");
        fixture.wait_for_replies(message).await;
    }
}
