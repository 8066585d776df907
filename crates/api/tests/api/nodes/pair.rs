//! Two services over one database, each with an engine that the test controls.

use std::time::{Duration, Instant};

use domain::TurnId;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    postgres::Database,
    response::{ApiResponse, Request},
    script::{EngineCall, Script, ScriptedTools, TOOLS, scripted},
    sse_client::EventStream,
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Changes reach the other node within 2 s; the timeout is doubled for slow machines.
pub(crate) const SOON: Duration = Duration::from_secs(4);

/// One of two services.
pub(crate) struct Node {
    pub(crate) api: ApiServer,
    /// The calls of its engine.
    pub(crate) script: Script,
}

/// Two services over one database.
pub(crate) struct NodePair {
    pub(crate) a: Node,
    pub(crate) b: Node,
    /// The id of an agent with slow replies.
    pub(crate) agent: String,
    pub(crate) database: Database,
}

impl NodePair {
    pub(crate) async fn start() -> Self {
        Self::start_with_builder(|builder| builder).await
    }

    /// With other settings for the first node.
    pub(crate) async fn start_with_builder(
        first: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
    ) -> Self {
        Self::start_with(|builder| builder, first).await
    }

    /// Starts a pair with other settings for both nodes.
    pub(crate) async fn start_with_settings(settings: &[(&str, &str)]) -> Self {
        let both = |builder| {
            let set = |builder: ApiServerBuilder, (name, value): &(&str, &str)| {
                builder.setting(name, value)
            };
            settings.iter().fold(builder, set)
        };
        Self::start_with(both, |builder| builder).await
    }

    async fn start_with(
        both: impl Fn(ApiServerBuilder) -> ApiServerBuilder,
        first: impl FnOnce(ApiServerBuilder) -> ApiServerBuilder,
    ) -> Self {
        let database = Database::make().await;
        let builder = || {
            let (engine, script) = scripted();
            let builder = ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
            let builder = both(builder);
            (
                builder.engine("scripted", engine).tools(ScriptedTools),
                script,
            )
        };
        let (builder_of_a, script) = builder();
        let api = first(builder_of_a).start().await;
        let a = Node { api, script };
        let (builder_of_b, script) = builder();
        let api = builder_of_b.join(&a.api).await;
        let b = Node { api, script };
        let config = json!({"engine": "scripted"});
        let draft = json!({"name": "Ada", "capabilities": TOOLS, "config": config});
        let agent = id_of(&a.api.agent(draft).await);
        Self {
            a,
            b,
            agent,
            database,
        }
    }

    /// Creates a conversation.
    pub(crate) async fn conversation(&self) -> String {
        id_of(
            &self
                .a
                .api
                .conversation(json!({"agentId": self.agent}))
                .await,
        )
    }

    /// Sends a message to the agent in this conversation.
    pub(crate) fn command(&self, conversation: &str, message: &str) -> Value {
        json!({"agentId": self.agent, "conversationId": conversation, "message": message})
    }

    /// Sends a message, and returns the id of the started or queued turn on `node`.
    pub(crate) async fn start_turn(
        &self,
        node: &Node,
        conversation: &str,
        message: &str,
    ) -> String {
        let request = node.chat(&self.command(conversation, message));
        let response = request.header("Prefer", "respond-async").send().await;
        assert_eq!(response.status, 202, "{}", response.text());
        id_of(&response.json())
    }

    /// The log, with the ids in each event.
    pub(crate) async fn log(&self) -> Vec<Value> {
        let reader = self.b.api.reader();
        let page = reader.get("/api/events?since=0&limit=100").await.ok();
        assert_eq!(page["hasMore"], false, "the log of a test fits a page");
        let events = page["data"].as_array().expect("a page").clone();
        for (event, seq) in events.iter().zip(1..) {
            assert_eq!(event["seq"], seq, "the log has no gap");
        }
        events
    }

    /// Waits until this many turns are queued.
    pub(crate) async fn wait_until_queued(&self, number: usize) {
        let began = Instant::now();
        loop {
            let log = self.log().await;
            let queued = log.iter().filter(|event| event["type"] == "turn.queued");
            if queued.count() == number {
                return;
            }
            assert!(began.elapsed() < TIMEOUT, "they are not queued: {log:?}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The events of a turn.
    pub(crate) async fn events_of_turn(&self, turn: &str) -> Vec<String> {
        let log = self.log().await;
        let of_turn = log.iter().filter(|event| event["turnId"] == turn);
        of_turn.map(|event| word(&event["type"])).collect()
    }

    /// Stops both services, and deletes their store.
    pub(crate) async fn stop(self) {
        Box::pin(async { tokio::join!(self.a.api.stop(), self.b.api.stop()) }).await;
    }
}

impl Node {
    /// A request to chat.
    pub(crate) fn chat(&self, body: &Value) -> Request {
        let request = self.api.writer().request("POST", "/api/chat");
        request.json(body)
    }

    /// A chat with a streamed reply.
    pub(crate) async fn stream_chat(&self, mut body: Value) -> EventStream {
        body["stream"] = true.into();
        EventStream::open(self.chat(&body)).await
    }

    pub(crate) async fn cancel(&self, turn: TurnId) -> ApiResponse {
        let path = format!("/api/turns/{turn}/cancel");
        self.api.writer().request("POST", &path).send().await
    }

    pub(crate) async fn turn(&self, turn: &str) -> Value {
        let path = format!("/api/turns/{turn}");
        self.api.reader().get(&path).await.ok()
    }

    /// A turn once its status is not `status`.
    pub(crate) async fn turn_after(&self, status: &str, turn: &str) -> Value {
        let began = Instant::now();
        loop {
            let found = self.turn(turn).await;
            if found["status"] != status {
                return found;
            }
            assert!(began.elapsed() < TIMEOUT, "it stays {found}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

impl EngineCall {
    /// The id of the turn of this call.
    pub(crate) fn turn(&self) -> String {
        self.request.turn_id.to_string()
    }
}

/// The text of a JSON string.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
