//! Questions, and what the service says of its engines.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::case::Case;
use crate::{
    faults::events::Events,
    rig::{
        http::{Incoming, Response, ask},
        load::Endpoint,
    },
};

/// How long a client waits.
const PATIENCE: Duration = Duration::from_mins(1);
/// Before it is looked again.
const PAUSE: Duration = Duration::from_millis(50);
/// What the stand-in says.
pub(super) const STAND_IN: &str = "Somebody else speaks.";

/// What came of a question.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) status: u16,
    /// The reply, or the problem.
    pub(super) body: Value,
    pub(super) took: Duration,
    /// Whether words came before.
    pub(super) has_spoken: bool,
}

/// The agents of a case.
#[derive(Clone)]
pub(super) struct Agents {
    endpoint: Endpoint,
    /// Has the one engine.
    pub(super) alone: String,
    /// Has rules to stand in for it.
    pub(super) backed: String,
}

impl Agents {
    /// Makes them.
    pub(super) async fn make(endpoint: &Endpoint, case: &Case) -> Result<Self> {
        let mut config = json!({ "engine": case.name, "timeoutMs": case.timeout });
        let alone = make(endpoint, &config).await?;
        config["fallbacks"] = json!(["rules"]);
        config["fallbackReply"] = json!(STAND_IN);
        Ok(Self {
            endpoint: endpoint.clone(),
            alone,
            backed: make(endpoint, &config).await?,
        })
    }

    /// Asks for the whole answer.
    pub(super) async fn ask(&self, agent: &str) -> Result<Asked> {
        let asked = Instant::now();
        let response = self.send(agent, &[]).await?;
        Ok(Asked {
            status: response.status,
            body: response.json(),
            took: asked.elapsed(),
            has_spoken: false,
        })
    }

    /// Asks for a turn, and waits until it is final.
    pub(super) async fn ask_for_turn(&self, agent: &str) -> Result<Value> {
        let response = self.send(agent, &[("Prefer", "respond-async")]).await?;
        let accepted = response.json();
        let id = accepted["id"].as_str();
        let id = id.with_context(|| format!("no turn: {accepted}"))?;
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            let turn = get(&self.endpoint, &format!("/api/turns/{id}")).await?;
            if !matches!(
                turn.json()["status"].as_str(),
                Some("queued" | "in_progress")
            ) {
                return Ok(turn.json());
            }
            sleep(PAUSE).await;
        }
        bail!("a turn that does not end: {accepted}")
    }

    /// Asks for the answer as it comes.
    pub(super) async fn ask_for_stream(&self, agent: &str) -> Result<Asked> {
        let asked = Instant::now();
        let request = self.request(agent, &[("Accept", "text/event-stream")]);
        let incoming = Incoming::open(self.endpoint.address, &request).await;
        let mut events = Events::new(incoming.map_err(|broken| anyhow!("{broken}"))?);
        let (mut last, mut has_spoken) = (None, false);
        while let Some(event) = events.next().await.map_err(|broken| anyhow!("{broken}"))? {
            has_spoken |= event.name == "reply.delta";
            last = Some(event);
        }
        let last = last.context("a stream without events")?;
        let problem = &last.data["error"];
        let status = problem["status"].as_u64().unwrap_or(200);
        Ok(Asked {
            status: u16::try_from(status)?,
            body: if problem.is_object() {
                problem.clone()
            } else {
                last.data
            },
            took: asked.elapsed(),
            has_spoken,
        })
    }

    /// Whether the service says that it leaves the engine alone.
    pub(super) async fn breaker_is_open(&self, engine: &str) -> Result<bool> {
        let metrics = get(&self.endpoint, "/metrics").await?;
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        let gauge = format!("engine_breaker_open{{engine=\"{engine}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&gauge));
        Ok(value.with_context(|| format!("no {gauge}"))? == "1")
    }

    async fn send(&self, agent: &str, headers: &[(&str, &str)]) -> Result<Response> {
        let request = self.request(agent, headers);
        let answered = ask(self.endpoint.address, &request, PATIENCE).await;
        answered.map_err(|broken| anyhow!("a chat is {broken}"))
    }

    fn request(&self, agent: &str, headers: &[(&str, &str)]) -> Vec<u8> {
        let chat = json!({ "agentId": agent, "message": "xyzzy" });
        self.endpoint
            .request_with("POST", "/api/chat", headers, Some(&chat))
    }
}

async fn get(endpoint: &Endpoint, path: &str) -> Result<Response> {
    let request = endpoint.request("GET", path, None);
    let response = ask(endpoint.address, &request, PATIENCE).await;
    let response = response.map_err(|broken| anyhow!("GET {path} is {broken}"))?;
    if response.status != 200 {
        bail!("GET {path} is answered {}", response.status);
    }
    Ok(response)
}

async fn make(endpoint: &Endpoint, config: &Value) -> Result<String> {
    let draft = json!({ "name": "Ada", "config": config });
    let request = endpoint.request("POST", "/api/agents", Some(&draft));
    let response = ask(endpoint.address, &request, PATIENCE).await;
    let made = response.map_err(|broken| anyhow!("{broken}"))?.json();
    let id = made["id"].as_str().map(str::to_owned);
    id.with_context(|| format!("no agent: {made}"))
}
