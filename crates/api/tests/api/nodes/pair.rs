//! Two services over one database, each with an engine in the hands of the test.

use std::time::{Duration, Instant};

use domain::TurnId;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Request},
    harness::{Api, Plan, id_of},
    postgres::Database,
    script::{Call, Script, scripted},
    sse_client::EventStream,
};

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether what is awaited has come.
const LOOK: Duration = Duration::from_millis(50);
/// What one node does is known to the other after 2 s; a slow machine is given as much again.
pub(crate) const SOON: Duration = Duration::from_secs(4);

/// One of two services.
pub(crate) struct Node {
    pub(crate) api: Api,
    /// What its engine is asked, and answers.
    pub(crate) script: Script,
}

/// Two services over one database.
pub(crate) struct Pair {
    pub(crate) a: Node,
    pub(crate) b: Node,
    /// Whose replies take their time.
    pub(crate) agent: String,
    pub(crate) database: Database,
}

impl Pair {
    pub(crate) async fn start() -> Self {
        Self::start_over(|plan| plan).await
    }

    /// With something else about the first.
    pub(crate) async fn start_over(first: impl FnOnce(Plan) -> Plan) -> Self {
        let database = Database::make().await;
        let plan = || {
            let (engine, script) = scripted();
            let plan = Plan::default().setting("DATABASE_URL", &database.url());
            (plan.engine("scripted", engine), script)
        };
        let (plan_of_a, script) = plan();
        let api = first(plan_of_a).start().await;
        let a = Node { api, script };
        let (plan_of_b, script) = plan();
        let api = plan_of_b.join(&a.api).await;
        let b = Node { api, script };
        let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
        let agent = id_of(&a.api.agent(draft).await);
        Self {
            a,
            b,
            agent,
            database,
        }
    }

    /// A conversation that exists.
    pub(crate) async fn conversation(&self) -> String {
        id_of(
            &self
                .a
                .api
                .conversation(json!({"agentId": self.agent}))
                .await,
        )
    }

    /// A message to the agent, in this conversation.
    pub(crate) fn command(&self, conversation: &str, message: &str) -> Value {
        json!({"agentId": self.agent, "conversationId": conversation, "message": message})
    }

    /// The id of the turn that such a message has begun or queued on `node`.
    pub(crate) async fn later(&self, node: &Node, conversation: &str, message: &str) -> String {
        let request = node.chat(&self.command(conversation, message));
        let answer = request.header("Prefer", "respond-async").send().await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        id_of(&answer.json())
    }

    /// The log, with what each event speaks of.
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

    /// Waits until so many turns were queued.
    pub(crate) async fn queued(&self, number: usize) {
        let began = Instant::now();
        loop {
            let log = self.log().await;
            let queued = log.iter().filter(|event| event["type"] == "turn.queued");
            if queued.count() == number {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "they are not queued: {log:?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What happened to a turn, by its events.
    pub(crate) async fn life_of(&self, turn: &str) -> Vec<String> {
        let log = self.log().await;
        let of_turn = log.iter().filter(|event| event["turnId"] == turn);
        of_turn.map(|event| word(&event["type"])).collect()
    }

    /// Ends both, and with them their store.
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

    /// A chat whose answer comes as it is spoken.
    pub(crate) async fn streamed(&self, mut body: Value) -> EventStream {
        body["stream"] = true.into();
        EventStream::open(self.chat(&body)).await
    }

    pub(crate) async fn cancel(&self, turn: TurnId) -> Answer {
        let path = format!("/api/turns/{turn}/cancel");
        self.api.writer().request("POST", &path).send().await
    }

    pub(crate) async fn turn(&self, turn: &str) -> Value {
        let path = format!("/api/turns/{turn}");
        self.api.reader().get(&path).await.ok()
    }

    /// A turn once it is no longer as `status` says.
    pub(crate) async fn turn_after(&self, status: &str, turn: &str) -> Value {
        let began = Instant::now();
        loop {
            let found = self.turn(turn).await;
            if found["status"] != status {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "it stays {found}");
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Call {
    /// The turn that it is about.
    pub(crate) fn turn(&self) -> String {
        self.request.turn_id.to_string()
    }
}

/// The text of a value that is one.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}
