//! The attacks.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{
    attacker::Attacker,
    bodies,
    flood::{FloodPlan, Reading},
};

/// The number of large agents on list pages.
const LARGE_AGENTS: usize = 100;
/// The number of agents with large rule books.
const RULE_BOOKS: u32 = 20;
/// The number of variants of a body, which keep responses out of caches.
const VARIANTS: u32 = 40;

/// The behaviour of the hostile tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attack {
    SlowRules,
    RuleBooks,
    Saves,
    Pages,
    SlowReaders,
    InvalidBodies,
    EventStream,
    LargePatches,
    Assertions,
    ToolServer,
}

impl Attack {
    pub(super) const ALL: [Self; 10] = [
        Self::SlowRules,
        Self::RuleBooks,
        Self::Saves,
        Self::Pages,
        Self::SlowReaders,
        Self::InvalidBodies,
        Self::EventStream,
        Self::LargePatches,
        Self::Assertions,
        Self::ToolServer,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SlowRules => "chats whose rules take long to search",
            Self::RuleBooks => "chats with many large rule books",
            Self::Saves => "saves of rules that take long to compile",
            Self::Pages => "pages of 240 KiB agents",
            Self::SlowReaders => "pages of large events that are read slowly, 60 clients",
            Self::InvalidBodies => "bodies with 32,000 faults",
            Self::EventStream => "streams of the whole log, and small events",
            Self::LargePatches => "one-field patches of a 240 KiB agent",
            Self::Assertions => "bad client assertions, ten keys each",
            Self::ToolServer => "a tool server that floods requests",
        }
    }

    /// A name for files and databases.
    pub(super) const fn slug(self) -> &'static str {
        match self {
            Self::SlowRules => "slow_rules",
            Self::RuleBooks => "rule_books",
            Self::Saves => "saves",
            Self::Pages => "pages",
            Self::SlowReaders => "slow_readers",
            Self::InvalidBodies => "invalid_bodies",
            Self::EventStream => "events",
            Self::LargePatches => "large_patches",
            Self::Assertions => "assertions",
            Self::ToolServer => "tool_server",
        }
    }

    /// Settings of the service that the attack needs.
    pub(super) fn variables(self, folder: &Path) -> Result<Vec<(String, String)>> {
        if self != Self::ToolServer {
            return Ok(Vec::new());
        }
        let script = folder.join("flooding_tool_server.sh");
        fs::write(&script, bodies::FLOODING_SERVER).context("cannot write a script")?;
        Ok(vec![
            ("MCP__SERVERS__FLOOD__COMMAND".to_owned(), "sh".to_owned()),
            (
                "MCP__SERVERS__FLOOD__ARGS".to_owned(),
                script.display().to_string(),
            ),
        ])
    }

    /// Prepares the resources of the attack, and returns its requests.
    pub(super) async fn prepare(self, attacker: &Attacker) -> Result<Vec<FloodPlan>> {
        match self {
            Self::SlowRules => slow_rules(attacker).await,
            Self::RuleBooks => rule_books(attacker).await,
            Self::Saves => saves(attacker).await,
            Self::Pages => {
                large_agents(attacker).await?;
                let paths = ["/api/agents?limit=100", "/api/events?since=0&limit=100"];
                let requests = paths.map(|path| attacker.endpoint.request("GET", path, None));
                Ok(vec![FloodPlan::paced(requests.to_vec())])
            }
            Self::SlowReaders => {
                large_agents(attacker).await?;
                let request =
                    attacker
                        .endpoint
                        .request("GET", "/api/events?since=0&limit=100", None);
                Ok(vec![FloodPlan {
                    clients: 60,
                    reading: Reading::Slow,
                    ..FloodPlan::paced(vec![request])
                }])
            }
            Self::InvalidBodies => {
                let draft = bodies::faulty_agent();
                let request = attacker
                    .endpoint
                    .request("POST", "/api/agents", Some(&draft));
                Ok(vec![FloodPlan::paced(vec![request])])
            }
            Self::EventStream => events(attacker).await,
            Self::LargePatches => {
                let agent = attacker.create_agent(&bodies::large_agent(0)).await?;
                let path = format!("/api/agents/{agent}");
                let renamed = |number| json!({ "name": format!("Agent {number}") });
                let requests = variants(attacker, "PATCH", &path, renamed);
                Ok(vec![FloodPlan::paced(requests)])
            }
            Self::Assertions => assertions(attacker).await,
            Self::ToolServer => Ok(Vec::new()),
        }
    }
}

async fn slow_rules(attacker: &Attacker) -> Result<Vec<FloodPlan>> {
    let agent = attacker.create_agent(&bodies::slow_rules(0)).await?;
    Ok(vec![chats(attacker, &[agent])])
}

async fn rule_books(attacker: &Attacker) -> Result<Vec<FloodPlan>> {
    let mut agents = Vec::new();
    for number in 0..RULE_BOOKS {
        agents.push(attacker.create_agent(&bodies::slow_rules(number)).await?);
    }
    Ok(vec![chats(attacker, &agents)])
}

/// As many concurrent chats as the burst allows, and then as many as the rate allows.
fn chats(attacker: &Attacker, agents: &[String]) -> FloodPlan {
    let message = bodies::long_message();
    let requests = agents.iter().map(|agent| {
        let chat = json!({ "agentId": agent, "message": message });
        attacker.endpoint.request("POST", "/api/chat", Some(&chat))
    });
    FloodPlan {
        clients: 30,
        interval: Duration::from_secs(10),
        ..FloodPlan::paced(requests.collect())
    }
}

async fn saves(attacker: &Attacker) -> Result<Vec<FloodPlan>> {
    let agent = attacker.create_agent(&json!({ "name": "Saved" })).await?;
    let path = format!("/api/agents/{agent}/config");
    let config = |number| bodies::slow_rules(number)["config"].clone();
    Ok(vec![FloodPlan::paced(variants(
        attacker, "PUT", &path, config,
    ))])
}

async fn events(attacker: &Attacker) -> Result<Vec<FloodPlan>> {
    let agent = attacker.create_agent(&json!({ "name": "Talker" })).await?;
    let streaming = [("Accept", "text/event-stream")];
    let stream = attacker
        .endpoint
        .request_with("GET", "/api/events?since=0", &streaming, None);
    let conversation = |number| json!({ "agentId": agent, "title": format!("Number {number}") });
    Ok(vec![
        FloodPlan {
            clients: 32,
            ..FloodPlan::paced(vec![stream])
        },
        FloodPlan::paced(variants(
            attacker,
            "POST",
            "/api/conversations",
            conversation,
        )),
    ])
}

async fn assertions(attacker: &Attacker) -> Result<Vec<FloodPlan>> {
    let client = json!({
        "name": "asserting",
        "scopes": ["agents:read"],
        "jwks": bodies::ten_keys(),
    });
    let client = attacker.create("/api/oauth-clients", &client).await?;
    let body = bodies::assertion_form(&client);
    let request = format!(
        "POST /oauth2/token HTTP/1.1\r\nHost: {}\r\nX-Forwarded-For: 203.0.113.9\r\n\
         Content-Type: application/x-www-response_mode-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        attacker.endpoint.address,
        body.len(),
    );
    Ok(vec![FloodPlan {
        clients: 20,
        interval: Duration::from_millis(50),
        ..FloodPlan::paced(vec![request.into_bytes()])
    }])
}

async fn large_agents(attacker: &Attacker) -> Result<()> {
    for number in 0..LARGE_AGENTS {
        attacker.create_agent(&bodies::large_agent(number)).await?;
    }
    Ok(())
}

fn variants(
    attacker: &Attacker,
    method: &str,
    path: &str,
    body: impl Fn(u32) -> Value,
) -> Vec<Vec<u8>> {
    let request = |number| attacker.endpoint.request(method, path, Some(&body(number)));
    (1..=VARIANTS).map(request).collect()
}
