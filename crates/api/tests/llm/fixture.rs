//! A service whose engine `llm` calls a server through a proxy.

use std::{net::SocketAddr, time::Duration};

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    proxy::{Proxy, ProxyMode},
    response::{ApiResponse, Request},
    sse_client::EventStream,
};

/// The API key of the servers; no response may contain it.
pub(crate) const KEY: &str = "sk-known-to-the-operator-alone";

/// The service, and the proxy in front of the model server.
pub(crate) struct Fixture {
    pub(crate) api: ApiServer,
    pub(crate) proxy: Proxy,
}

impl Fixture {
    /// Starts a service that uses this model of the server at this address.
    pub(crate) async fn start(url: &str, model: &str) -> Self {
        Self::start_with(ApiServerBuilder::default(), url, model).await
    }

    /// The same, with more settings.
    pub(crate) async fn start_with(builder: ApiServerBuilder, url: &str, model: &str) -> Self {
        let server: SocketAddr = url
            .strip_prefix("http://")
            .and_then(|address| address.parse().ok())
            .unwrap_or_else(|| panic!("{url} is no address"));
        let proxy = Proxy::in_front_of(server).await;
        let builder = builder
            .setting("LLM__BASE_URL", &format!("http://{}/v1", proxy.address))
            .setting("LLM__API_KEY", KEY)
            .setting("LLM__MODEL", model);
        let api = builder.start().await;
        Self { api, proxy }
    }

    /// Creates an agent of the engine `llm` with this configuration.
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

    /// Sends a message to an agent.
    pub(crate) async fn send_message(&self, agent: &str, message: &str) -> ApiResponse {
        self.request(agent, message).send().await
    }

    /// Sends a message to an agent, and streams the reply.
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

    /// An inline reply.
    pub(crate) async fn replies(&self, agent: &str, message: &str) -> Value {
        let reply = self.send_message(agent, message).await.ok();
        assert_eq!(reply["engine"], "llm", "{reply}");
        assert_eq!(reply["degraded"], false, "{reply}");
        reply
    }

    /// An inline reply of a server that counts tokens.
    pub(crate) async fn answers(&self, agent: &str, message: &str) -> Value {
        let reply = self.replies(agent, message).await;
        for tokens in ["inputTokens", "outputTokens"] {
            assert!(reply["usage"][tokens].as_i64() > Some(0), "{reply}");
        }
        reply
    }

    /// A streamed reply, and the number of its pieces.
    pub(crate) async fn streams(&self, agent: &str, message: &str) -> (Value, usize) {
        let mut stream = self.stream(agent, message).await;
        stream.next_of_type("turn.started").await;
        let (mut contents, mut pieces) = (String::new(), 0);
        loop {
            let event = stream.next().await.expect("the stream goes on");
            match &*event.name {
                "reply.delta" => {
                    contents.push_str(event.data["text"].as_str().expect("text"));
                    pieces += 1;
                }
                "tool.called" | "tool.returned" => {}
                "turn.completed" => {
                    assert_eq!(event.data["message"], contents, "{event:?}");
                    return (event.data, pieces);
                }
                _ => panic!("{event:?}"),
            }
        }
    }

    /// Asserts that the response is this problem, that the turn has failed with it, and that no
    /// secret is shown.
    pub(crate) async fn expect_failure(
        &self,
        agent: &str,
        message: &str,
        code: ProblemCode,
    ) -> ApiResponse {
        let response = self.send_message(agent, message).await;
        let text = String::from_utf8_lossy(&response.body).into_owned();
        response.problem(code);
        let port = self.proxy.address.port().to_string();
        assert!(!text.contains(KEY) && !text.contains(&port), "{text}");
        response
    }

    /// The connection breaks in the middle of a reply: the turn fails, inline and streamed, and no
    /// fallback continues.
    pub(crate) async fn expect_interruption(&self, model: Value, message: &str) {
        let mut config = json!({"fallbacks": ["rules"]});
        config["llm"] = model;
        let agent = self.agent(config).await;
        self.proxy.set(ProxyMode::CutAfter(3));
        self.expect_failure(&agent, message, ProblemCode::EngineFailed)
            .await;
        let mut stream = self.stream(&agent, message).await;
        let events = stream.remaining().await;
        let last = events.last().expect("events");
        assert_eq!(last.name, "turn.failed", "{events:?}");
        assert_eq!(last.data["error"]["code"], "engine_failed", "{last:?}");
        assert!(
            events.iter().any(|event| event.name == "reply.delta"),
            "{events:?}"
        );
        self.proxy.set(ProxyMode::Clear);
    }

    /// No reply arrives in the agent's time: the turn fails then, and the connection is closed.
    pub(crate) async fn is_too_slow(&self, model: Value, message: &str) {
        let agent = self.agent(json!({"timeoutMs": 500, "llm": model})).await;
        self.proxy.set(ProxyMode::Held);
        self.expect_failure(&agent, message, ProblemCode::EngineTimeout)
            .await;
        self.proxy.wait_until_open(0).await;
        self.proxy.set(ProxyMode::Clear);
    }

    /// A turn that is cancelled after its first text closes the connection to the server at once.
    pub(crate) async fn is_released(&self, agent: &str, message: &str) {
        let mut stream = self.stream(agent, message).await;
        let started = stream.next_of_type("turn.started").await;
        stream.next_of_type("reply.delta").await;
        let id = started["turnId"].as_str().expect("an id");
        let path = format!("/api/turns/{id}/cancel");
        self.api.writer().request("POST", &path).send().await.ok();
        let let_go = tokio::time::timeout(Duration::from_secs(1), self.proxy.wait_until_open(0));
        let_go.await.expect("the connection is closed at once");
        let events = stream.remaining().await;
        assert_eq!(events.last().expect("an end").name, "turn.cancelled");
    }

    /// While the server is unavailable, the next engine replies.
    pub(crate) async fn falls_back(self, config: Value) {
        let mut config = config;
        config["fallbacks"] = json!(["rules"]);
        config["fallbackReply"] = json!("Somebody else speaks.");
        let agent = self.agent(config).await;
        drop(self.proxy);
        let command = json!({"agentId": agent, "message": "xyzzy"});
        let reply = self.api.chat(command).await;
        assert_eq!(reply["message"], "Somebody else speaks.", "{reply}");
        assert_eq!(reply["engine"], "rules", "{reply}");
        assert_eq!(reply["degraded"], true, "{reply}");
        self.api.stop().await;
    }
}
