//! Clients of a service with slow replies.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use scripted_engine::Script;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::process::{RunningService, printed, scripted_service};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The polling interval, at which requests stay within the default rate limit.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A fixed key for the first start of a store.
pub(crate) fn key(folder: &Path) -> String {
    let generated = printed(folder, &["keys", "generate"]);
    generated.trim_end().to_owned()
}

/// Starts the service with the scripted engine; without `database`, on a file in the folder.
pub(crate) fn serving(folder: &Path, key: &str, database: Option<&str>) -> RunningService {
    let database = database.map(|url| ("DATABASE_URL", url));
    serving_with(folder, key, database.as_slice())
}

/// Starts the same service with further settings.
pub(crate) fn serving_with(folder: &Path, key: &str, settings: &[(&str, &str)]) -> RunningService {
    let fixed = [("SERVER__PORT", "0"), ("AUTH__BOOTSTRAP_KEY", key)];
    let variables = [&fixed[..], settings].concat();
    RunningService::of(scripted_service(folder, &["serve"], &variables))
}

/// A client that chats with a service.
#[derive(Clone)]
pub(crate) struct ChatClient {
    pub(crate) url: String,
    key: String,
    http: reqwest::Client,
}

/// A conversation.
#[derive(Clone)]
pub(crate) struct ConversationRef {
    pub(crate) agent: String,
    pub(crate) conversation: String,
}

impl ConversationRef {
    /// A message that instructs the scripted engine.
    pub(crate) fn message(&self, script: &Script) -> Value {
        json!({
            "agentId": self.agent,
            "conversationId": self.conversation,
            "message": script.to_message(),
        })
    }
}

impl ChatClient {
    pub(crate) fn new(running: &RunningService, key: &str) -> Self {
        Self {
            url: running.url.clone(),
            key: key.to_owned(),
            http: reqwest::Client::new(),
        }
    }

    /// The same client for another service.
    pub(crate) fn with_server(&self, running: &RunningService) -> Self {
        Self::new(running, &self.key)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.url));
        request.header("X-API-Key", &self.key).json(body)
    }

    pub(crate) fn chat(&self, body: &Value) -> reqwest::RequestBuilder {
        self.post("/api/chat", body)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let request = self.http.get(format!("{}{path}", self.url));
        send_json(request.header("X-API-Key", &self.key)).await.1
    }

    /// A new conversation with a new agent.
    pub(crate) async fn conversation_ref(&self) -> ConversationRef {
        self.conversation_with(&[]).await
    }

    /// A new conversation with a new agent that has these capabilities.
    pub(crate) async fn conversation_with(&self, capabilities: &[&str]) -> ConversationRef {
        let config = json!({"engine": "scripted"});
        let draft = json!({"name": "Ada", "capabilities": capabilities, "config": config});
        let (_, agent) = send_json(self.post("/api/agents", &draft)).await;
        let agent = text(&agent["id"]);
        let draft = json!({"agentId": agent});
        let (_, conversation) = send_json(self.post("/api/conversations", &draft)).await;
        ConversationRef {
            agent,
            conversation: text(&conversation["id"]),
        }
    }

    /// Starts or queues a turn without waiting for its end, and returns it.
    pub(crate) async fn start_turn(&self, body: &Value) -> Value {
        let (status, turn) = send_json(self.chat(body).header("Prefer", "respond-async")).await;
        assert_eq!(status, 202, "{turn}");
        turn
    }

    /// Sends a message, and waits for the reply.
    pub(crate) fn spawn_chat(&self, body: &Value) -> tokio::task::JoinHandle<(u16, Value)> {
        spawn(self.chat(body))
    }

    pub(crate) async fn turn(&self, id: &str) -> Value {
        self.get(&format!("/api/turns/{id}")).await
    }

    pub(crate) async fn cancel(&self, id: &str) {
        let path = format!("/api/turns/{id}/cancel");
        let (status, turn) = send_json(self.post(&path, &Value::Null)).await;
        assert_eq!((status, &turn["status"]), (200, &"cancelled".into()));
    }

    /// Waits until a turn has ended, and returns it.
    pub(crate) async fn wait_for_turn_end(&self, id: &str) -> Value {
        let began = Instant::now();
        loop {
            let turn = self.turn(id).await;
            if !["queued", "in_progress"].contains(&&*text(&turn["status"])) {
                return turn;
            }
            assert!(began.elapsed() < TIMEOUT, "it stays {turn}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the log has this many such events, and returns the ids of their turns.
    pub(crate) async fn turns(&self, event: &str, number: usize) -> Vec<String> {
        let began = Instant::now();
        loop {
            let log = self.log().await;
            let of_type = log.iter().filter(|it| it["type"] == event);
            let turns: Vec<String> = of_type.map(|it| text(&it["turnId"])).collect();
            if turns.len() >= number {
                return turns;
            }
            assert!(began.elapsed() < TIMEOUT, "{event}: {turns:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The whole log of a test, which has no gaps.
    pub(crate) async fn log(&self) -> Vec<Value> {
        let page = self.get("/api/events?since=0&limit=100").await;
        assert_eq!(page["hasMore"], false, "the log of a test fits a page");
        let events = page["data"].as_array().expect("a page").clone();
        for (event, seq) in events.iter().zip(1..) {
            assert_eq!(event["seq"], seq, "the log has no gap");
        }
        events
    }

    /// Asserts that every turn in the log has ended exactly once.
    pub(crate) async fn assert_each_turn_has_ended_once(&self) {
        let mut ends: HashMap<String, usize> = HashMap::new();
        for event in self.log().await {
            let kind = text(&event["type"]);
            let is_end = ["turn.completed", "turn.failed", "turn.cancelled"].contains(&&*kind);
            if let Some(turn) = event["turnId"].as_str() {
                *ends.entry(turn.to_owned()).or_default() += usize::from(is_end);
            }
        }
        assert!(ends.values().all(|ends| *ends == 1), "{ends:?}");
    }

    /// The messages of a conversation, which are numbered without gaps.
    pub(crate) async fn messages_of(&self, conversation_ref: &ConversationRef) -> Vec<String> {
        let path = format!(
            "/api/conversations/{}/messages?limit=100",
            conversation_ref.conversation
        );
        let page = self.get(&path).await;
        let messages = page["data"].as_array().expect("a page");
        for (message, seq) in messages.iter().zip(1..) {
            assert_eq!(message["seq"], seq);
        }
        messages.iter().map(|it| text(&it["content"])).collect()
    }
}

/// Sends a request in a task of its own.
pub(crate) fn spawn(request: reqwest::RequestBuilder) -> tokio::task::JoinHandle<(u16, Value)> {
    TaskTracker::new().spawn(send_json(request))
}

/// Sends a request; returns the status and the body.
pub(crate) async fn send_json(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, response.json().await.expect("JSON"))
}

/// Opens a stream and reads until the first text; returns the stream and the turn.
pub(crate) async fn stream_until_text(request: reqwest::RequestBuilder) -> (Stream, String) {
    let response = request.header("Accept", "text/event-stream").send().await;
    let mut stream = Stream {
        response: response.expect("an answer"),
        read: String::new(),
    };
    while !stream.read.contains("event: reply.delta") {
        assert!(stream.read_next().await, "it ends: {}", stream.read);
    }
    let data = stream.data_of("turn.started");
    (stream, text(&data["turnId"]))
}

/// A stream of events, and everything read from it.
pub(crate) struct Stream {
    response: reqwest::Response,
    read: String,
}

impl Stream {
    async fn read_next(&mut self) -> bool {
        let chunk = self.response.chunk();
        let chunk = tokio::time::timeout(TIMEOUT, chunk).await;
        match chunk.expect("it goes on in time") {
            Ok(Some(bytes)) => {
                self.read.push_str(str::from_utf8(&bytes).expect("UTF-8"));
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Reads to the end; returns the data of the last event, which must have this name.
    pub(crate) async fn end(mut self, name: &str) -> Value {
        while self.read_next().await {}
        let (_, after) = self.read.rsplit_once("event: ").expect("an event");
        assert!(after.starts_with(name), "{after}");
        self.data_of(name)
    }

    fn data_of(&self, name: &str) -> Value {
        let (_, after) = self
            .read
            .split_once(&format!("event: {name}\n"))
            .expect(name);
        let data = after.lines().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(data.expect("data")).expect("JSON")
    }
}

/// The text of a JSON string.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
