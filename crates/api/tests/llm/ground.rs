//! A service whose engine `llm` asks a server through a tap.

use std::{net::SocketAddr, time::Duration};

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, Request},
    harness::{Api, Plan, id_of},
    sse_client::EventStream,
    tap::{Line, Tap},
};

/// What the servers are shown; no answer may show it.
pub(crate) const KEY: &str = "sk-known-to-the-operator-alone";

/// The service, and the line to the server.
pub(crate) struct Ground {
    pub(crate) api: Api,
    pub(crate) tap: Tap,
}

impl Ground {
    /// A service that asks the server at this address for this model.
    pub(crate) async fn start(url: &str, model: &str) -> Self {
        Self::start_with(Plan::default(), url, model).await
    }

    /// The same, with more settings.
    pub(crate) async fn start_with(plan: Plan, url: &str, model: &str) -> Self {
        let server: SocketAddr = url
            .strip_prefix("http://")
            .and_then(|address| address.parse().ok())
            .unwrap_or_else(|| panic!("{url} is no address"));
        let tap = Tap::before(server).await;
        let plan = plan
            .setting("LLM__BASE_URL", &format!("http://{}/v1", tap.address))
            .setting("LLM__API_KEY", KEY)
            .setting("LLM__MODEL", model);
        let api = plan.start().await;
        Self { api, tap }
    }

    /// An agent of the engine, with more to its configuration.
    pub(crate) async fn agent(&self, more: Value) -> String {
        let mut config = more;
        config["engine"] = "llm".into();
        let draft = json!({
            "name": "Ada",
            "personality": "Brief.",
            "capabilities": ["calculator", "orders"],
            "config": config,
        });
        id_of(&self.api.agent(draft).await)
    }

    fn request(&self, agent: &str, message: &str) -> Request {
        let body = json!({"agentId": agent, "message": message});
        self.api.writer().request("POST", "/api/chat").json(&body)
    }

    /// Says something to an agent.
    pub(crate) async fn say(&self, agent: &str, message: &str) -> Answer {
        self.request(agent, message).send().await
    }

    /// Says something to an agent, and hears the answer as it comes.
    pub(crate) async fn stream(&self, agent: &str, message: &str) -> EventStream {
        let request = self.request(agent, message);
        EventStream::open(request.header("Accept", "text/event-stream")).await
    }

    /// The turn of this id.
    pub(crate) async fn turn(&self, id: &Value) -> Value {
        let id = id.as_str().expect("an id");
        self.api
            .reader()
            .get(&format!("/api/turns/{id}"))
            .await
            .ok()
    }

    /// An answer that comes as a whole.
    pub(crate) async fn replies(&self, agent: &str, message: &str) -> Value {
        let reply = self.say(agent, message).await.ok();
        assert_eq!(reply["engine"], "llm", "{reply}");
        assert_eq!(reply["degraded"], false, "{reply}");
        reply
    }

    /// An answer that comes as a whole, of a server that counts tokens.
    pub(crate) async fn answers(&self, agent: &str, message: &str) -> Value {
        let reply = self.replies(agent, message).await;
        for tokens in ["inputTokens", "outputTokens"] {
            assert!(reply["usage"][tokens].as_i64() > Some(0), "{reply}");
        }
        reply
    }

    /// An answer that comes piece by piece, and its pieces.
    pub(crate) async fn streams(&self, agent: &str, message: &str) -> (Value, usize) {
        let mut stream = self.stream(agent, message).await;
        stream.next_of("turn.started").await;
        let (mut said, mut pieces) = (String::new(), 0);
        loop {
            let event = stream.next().await.expect("the stream goes on");
            match &*event.name {
                "reply.delta" => {
                    said.push_str(event.data["text"].as_str().expect("text"));
                    pieces += 1;
                }
                "tool.called" | "tool.returned" => {}
                "turn.completed" => {
                    assert_eq!(event.data["message"], said, "{event:?}");
                    return (event.data, pieces);
                }
                _ => panic!("{event:?}"),
            }
        }
    }

    /// The answer is this problem, the turn has failed of it, and no secret is told.
    pub(crate) async fn fails(&self, agent: &str, message: &str, code: ProblemCode) -> Answer {
        let answer = self.say(agent, message).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        answer.problem(code);
        let port = self.tap.address.port().to_string();
        assert!(!text.contains(KEY) && !text.contains(&port), "{text}");
        answer
    }

    /// The line breaks in the middle of an answer: it fails, whole or as a stream, and nobody else
    /// goes on in its place.
    pub(crate) async fn is_cut(&self, model: Value, message: &str) {
        let mut config = json!({"fallbacks": ["rules"]});
        config["llm"] = model;
        let agent = self.agent(config).await;
        self.tap.set(Line::CutAfter(3));
        self.fails(&agent, message, ProblemCode::EngineFailed).await;
        let mut stream = self.stream(&agent, message).await;
        let events = stream.rest().await;
        let last = events.last().expect("events");
        assert_eq!(last.name, "turn.failed", "{events:?}");
        assert_eq!(last.data["error"]["code"], "engine_failed", "{last:?}");
        assert!(
            events.iter().any(|event| event.name == "reply.delta"),
            "{events:?}"
        );
        self.tap.set(Line::Clear);
    }

    /// No answer comes in the agent's time: it is told then, and the server is let go.
    pub(crate) async fn is_too_slow(&self, model: Value, message: &str) {
        let agent = self.agent(json!({"timeoutMs": 500, "llm": model})).await;
        self.tap.set(Line::Held);
        self.fails(&agent, message, ProblemCode::EngineTimeout)
            .await;
        self.tap.until_open(0).await;
        self.tap.set(Line::Clear);
    }

    /// A turn that is cancelled after its first words lets the server go at once.
    pub(crate) async fn is_let_go(&self, agent: &str, message: &str) {
        let mut stream = self.stream(agent, message).await;
        let started = stream.next_of("turn.started").await;
        stream.next_of("reply.delta").await;
        let id = started["turnId"].as_str().expect("an id");
        let path = format!("/api/turns/{id}/cancel");
        self.api.writer().request("POST", &path).send().await.ok();
        let let_go = tokio::time::timeout(Duration::from_secs(1), self.tap.until_open(0));
        let_go.await.expect("the connection is closed at once");
        let events = stream.rest().await;
        assert_eq!(events.last().expect("an end").name, "turn.cancelled");
    }

    /// While the server is away, the next engine answers.
    pub(crate) async fn ends_with_a_stand_in(self, config: Value) {
        let mut config = config;
        config["fallbacks"] = json!(["rules"]);
        config["fallbackReply"] = json!("Somebody else speaks.");
        let agent = self.agent(config).await;
        drop(self.tap);
        let command = json!({"agentId": agent, "message": "xyzzy"});
        let reply = self.api.chat(command).await;
        assert_eq!(reply["message"], "Somebody else speaks.", "{reply}");
        assert_eq!(reply["engine"], "rules", "{reply}");
        assert_eq!(reply["degraded"], true, "{reply}");
        self.api.stop().await;
    }
}
