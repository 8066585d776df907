//! The well-behaved tenant: reads, chats and saves at a rate that harms nobody.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

use crate::rig::{http::ask, load::Endpoint};

/// Clients that read and chat in turn, each ten times a second.
const CLIENTS: usize = 6;
const BETWEEN: Duration = Duration::from_millis(100);
/// From one save to the next.
const BETWEEN_SAVES: Duration = Duration::from_millis(500);
/// The longest that a client waits.
const PATIENCE: Duration = Duration::from_secs(30);

/// The well-behaved tenant.
pub(super) struct Neighbour {
    endpoint: Endpoint,
    agent: String,
}

/// The measurements of the tenant.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) took: Vec<Duration>,
    pub(super) saves: Vec<Duration>,
    pub(super) errors: Vec<String>,
}

impl Observed {
    /// Adds what was observed later.
    pub(super) fn extend(&mut self, later: Self) {
        self.took.extend(later.took);
        self.saves.extend(later.saves);
        self.errors.extend(later.errors);
    }
}

impl Neighbour {
    /// Makes the tenant's agent.
    pub(super) async fn new(endpoint: Endpoint) -> Result<Self> {
        let draft = json!({ "name": "Neighbour", "config": config(0) });
        let request = endpoint.request("POST", "/api/agents", Some(&draft));
        let made = ask(endpoint.address, &request, PATIENCE).await;
        let made = made.ok().context("no answer to a new agent")?.json();
        let agent = made["id"].as_str().map(str::to_owned);
        let agent = agent.with_context(|| format!("no agent: {made}"))?;
        Ok(Self { endpoint, agent })
    }

    /// Reads, chats and saves for so long.
    pub(super) async fn observe(&self, duration: Duration) -> Observed {
        let end = Instant::now() + duration;
        let path = format!("/api/agents/{}", self.agent);
        let chat = json!({ "agentId": self.agent, "message": "Please echo this" });
        let read = self.endpoint.request("GET", &path, None);
        let chat = self.endpoint.request("POST", "/api/chat", Some(&chat));
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let requests = vec![read.clone(), chat.clone()];
            clients.spawn(send(self.endpoint.clone(), requests, BETWEEN, end));
        }
        let path = format!("{path}/config");
        let save = |number| self.endpoint.request("PUT", &path, Some(&config(number)));
        let requests = (1..=20).map(save).collect();
        let saved = send(self.endpoint.clone(), requests, BETWEEN_SAVES, end).await;
        let mut observed = Observed {
            saves: saved.took,
            errors: saved.errors,
            ..Observed::default()
        };
        for client in clients.join_all().await {
            observed.extend(client);
        }
        observed
    }
}

/// Twenty ordinary rules; of each number others.
fn config(number: u32) -> Value {
    let rule = |rule| json!({ "pattern": format!("word {rule} of {number}"), "reply": "found" });
    let mut rules: Vec<Value> = (0..20).map(rule).collect();
    rules.push(json!({ "pattern": r"echo (\w+)", "reply": "Echo of {{capture.1}}." }));
    json!({ "engine": "rules", "rules": rules })
}

async fn send(
    endpoint: Endpoint,
    requests: Vec<Vec<u8>>,
    between: Duration,
    end: Instant,
) -> Observed {
    let mut ticks = interval(between);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut observed = Observed::default();
    for request in requests.iter().cycle() {
        ticks.tick().await;
        let asked = Instant::now();
        if asked >= end {
            break;
        }
        match ask(endpoint.address, request, PATIENCE).await {
            Ok(response) if (200..300).contains(&response.status) => {
                observed.took.push(asked.elapsed());
            }
            Ok(response) => {
                let body = response.json();
                observed.errors.push(format!("{}: {body}", response.status));
            }
            Err(broken) => observed.errors.push(broken.to_string()),
        }
    }
    observed
}
