//! Chats with agents whose engine fails, and the state of its circuit breaker.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method, RequestBuilder, Response, ResponseStream, send},
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::case::Case;
use crate::event_stream::EventStream;

/// The longest that a client waits.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The pause between two polls of a turn.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The reply of the fallback engine.
pub(super) const FALLBACK_REPLY: &str = "A fallback replies.";

/// The response to a chat.
#[derive(Debug, Clone)]
pub(super) struct ChatResponse {
    pub(super) status: u16,
    /// The reply or the problem document.
    pub(super) body: Value,
    pub(super) latency: Duration,
    /// True if the stream contained deltas.
    pub(super) has_words: bool,
}

/// The agents of a case.
#[derive(Clone)]
pub(super) struct CaseAgents {
    endpoint: Endpoint,
    /// The agent without a fallback.
    pub(super) alone: String,
    /// The agent with rules as its fallback.
    pub(super) with_fallback: String,
}

impl CaseAgents {
    /// Creates the agents.
    pub(super) async fn create(endpoint: &Endpoint, case: &Case) -> Result<Self> {
        let mut config = json!({ "engine": case.name, "timeoutMs": case.timeout });
        let alone = create(endpoint, &config).await?;
        config["fallbacks"] = json!(["rules"]);
        config["fallbackReply"] = json!(FALLBACK_REPLY);
        Ok(Self {
            endpoint: endpoint.clone(),
            alone,
            with_fallback: create(endpoint, &config).await?,
        })
    }

    /// Chats and waits for the complete reply.
    pub(super) async fn chat(&self, agent: &str) -> Result<ChatResponse> {
        let sent_at = Instant::now();
        let response = send(self.request(agent), TIMEOUT).await?;
        Ok(ChatResponse {
            status: response.status,
            body: response.json(),
            latency: sent_at.elapsed(),
            has_words: false,
        })
    }

    /// Chats asynchronously, and polls the turn until it is final.
    pub(super) async fn chat_async(&self, agent: &str) -> Result<Value> {
        let request = self.request(agent).header("Prefer", "respond-async");
        let accepted = send(request, TIMEOUT).await?.json();
        let id = accepted["id"].as_str();
        let id = id.with_context(|| format!("no turn: {accepted}"))?;
        let started = Instant::now();
        while started.elapsed() < TIMEOUT {
            let turn = get(&self.endpoint, &format!("/api/turns/{id}")).await?;
            let turn = turn.json();
            if !matches!(turn["status"].as_str(), Some("queued" | "in_progress")) {
                return Ok(turn);
            }
            sleep(POLL_INTERVAL).await;
        }
        bail!("a turn that does not end: {accepted}")
    }

    /// Chats and reads the stream to its end.
    pub(super) async fn chat_stream(&self, agent: &str) -> Result<ChatResponse> {
        let sent_at = Instant::now();
        let request = self.request(agent).header("Accept", "text/event-stream");
        let mut events = EventStream::new(ResponseStream::open(request).await?);
        let (mut last, mut has_words) = (None, false);
        while let Some(event) = events.next().await? {
            has_words |= event.name == "reply.delta";
            last = Some(event);
        }
        let last = last.context("a stream without events")?;
        let problem = &last.data["error"];
        let status = problem["status"].as_u64().unwrap_or(200);
        Ok(ChatResponse {
            status: u16::try_from(status)?,
            body: if problem.is_object() {
                problem.clone()
            } else {
                last.data
            },
            latency: sent_at.elapsed(),
            has_words,
        })
    }

    /// Returns true if the metrics report an open circuit breaker of the engine.
    pub(super) async fn breaker_is_open(&self, engine: &str) -> Result<bool> {
        let gauge = format!("engine_breaker_open{{engine=\"{engine}\"}}");
        let value = self.endpoint.metric(&gauge).await?;
        Ok(value.with_context(|| format!("no {gauge}"))? > 0.0)
    }

    fn request(&self, agent: &str) -> RequestBuilder {
        let chat = json!({ "agentId": agent, "message": "xyzzy" });
        self.endpoint.http(Method::POST, "/api/chat").json(&chat)
    }
}

async fn get(endpoint: &Endpoint, path: &str) -> Result<Response> {
    let response = send(endpoint.http(Method::GET, path), TIMEOUT).await;
    let response = response.with_context(|| format!("GET {path}"))?;
    if response.status != 200 {
        bail!("GET {path} returned {}", response.status);
    }
    Ok(response)
}

async fn create(endpoint: &Endpoint, config: &Value) -> Result<String> {
    let draft = json!({ "name": "Ada", "config": config });
    let client = ApiClient::new(endpoint);
    let agent = client.call(Method::POST, "/api/agents", Some(&draft));
    let agent = agent.await?;
    let id = agent["id"].as_str().map(str::to_owned);
    id.with_context(|| format!("no agent: {agent}"))
}
