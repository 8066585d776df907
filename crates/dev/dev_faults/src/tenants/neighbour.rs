//! The well-behaved tenant: reads, chats and saves at a harmless rate.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method, send},
};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

/// Clients that read and chat in turn, each ten times a second.
const CLIENTS: usize = 6;
const REQUEST_INTERVAL: Duration = Duration::from_millis(100);
/// The interval between two saves.
const SAVE_INTERVAL: Duration = Duration::from_millis(500);
/// The longest that a client waits.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The well-behaved tenant.
pub(super) struct Neighbour {
    endpoint: Endpoint,
    agent: String,
}

/// A request of the tenant.
#[derive(Clone)]
struct Request {
    method: Method,
    path: String,
    body: Value,
}

/// The measurements of the tenant.
#[derive(Default)]
pub(super) struct Measurements {
    pub(super) requests: Vec<Duration>,
    pub(super) saves: Vec<Duration>,
    pub(super) errors: Vec<String>,
}

impl Measurements {
    fn extend(&mut self, other: Self) {
        self.requests.extend(other.requests);
        self.saves.extend(other.saves);
        self.errors.extend(other.errors);
    }
}

impl Neighbour {
    /// Creates the tenant's agent.
    pub(super) async fn new(endpoint: Endpoint) -> Result<Self> {
        let draft = json!({ "name": "Neighbour", "config": config(0) });
        let client = ApiClient::new(&endpoint);
        let agent = client.call(Method::POST, "/api/agents", Some(&draft));
        let agent = agent.await?;
        let agent = agent["id"].as_str().context("no agent")?.to_owned();
        Ok(Self { endpoint, agent })
    }

    /// Reads, chats and saves for `duration`.
    pub(super) async fn measure(&self, duration: Duration) -> Measurements {
        let end = Instant::now() + duration;
        let path = format!("/api/agents/{}", self.agent);
        let read = Request {
            method: Method::GET,
            path: path.clone(),
            body: Value::Null,
        };
        let chat = Request {
            method: Method::POST,
            path: "/api/chat".to_owned(),
            body: json!({ "agentId": self.agent, "message": "Please echo this" }),
        };
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let requests = vec![read.clone(), chat.clone()];
            let endpoint = self.endpoint.clone();
            clients.spawn(send_all(endpoint, requests, REQUEST_INTERVAL, end));
        }
        let save = |number| Request {
            method: Method::PUT,
            path: format!("{path}/config"),
            body: config(number),
        };
        let saves = (1..=20).map(save).collect();
        let results = send_all(self.endpoint.clone(), saves, SAVE_INTERVAL, end).await;
        let mut all = Measurements {
            saves: results.requests,
            errors: results.errors,
            ..Measurements::default()
        };
        for client in clients.join_all().await {
            all.extend(client);
        }
        all
    }
}

/// A configuration of twenty ordinary rules, which differ by `number`.
fn config(number: u32) -> Value {
    let rule = |rule| json!({ "pattern": format!("word {rule} of {number}"), "reply": "found" });
    let mut rules: Vec<Value> = (0..20).map(rule).collect();
    rules.push(json!({ "pattern": r"echo (\w+)", "reply": "Echo of {{capture.1}}." }));
    json!({ "engine": "rules", "rules": rules })
}

async fn send_all(
    endpoint: Endpoint,
    requests: Vec<Request>,
    pause: Duration,
    end: Instant,
) -> Measurements {
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut all = Measurements::default();
    for request in requests.iter().cycle() {
        ticks.tick().await;
        let sent_at = Instant::now();
        if sent_at >= end {
            break;
        }
        let mut builder = endpoint.http(request.method.clone(), &request.path);
        if !request.body.is_null() {
            builder = builder.json(&request.body);
        }
        match send(builder, TIMEOUT).await {
            Ok(response) if (200..300).contains(&response.status) => {
                all.requests.push(sent_at.elapsed());
            }
            Ok(response) => {
                let body = response.json();
                all.errors.push(format!("{}: {body}", response.status));
            }
            Err(error) => all.errors.push(error.to_string()),
        }
    }
    all
}
