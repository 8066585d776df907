//! The hostile tenant.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{Method, send},
};
use serde_json::Value;
use tokio::time::sleep;

/// The longest that a preparation may take: saves may have to wait for each other.
const TIMEOUT: Duration = Duration::from_mins(1);

/// An ordinary key of a tenant of its own, with the default limits.
pub(super) struct Attacker {
    pub(super) endpoint: Endpoint,
}

impl Attacker {
    /// Creates an agent and returns its id.
    pub(super) async fn create_agent(&self, draft: &Value) -> Result<String> {
        self.create("/api/agents", draft).await
    }

    /// Creates a resource and returns its id. Waits while it is rate limited.
    pub(super) async fn create(&self, path: &str, draft: &Value) -> Result<String> {
        loop {
            let request = self.endpoint.http(Method::POST, path).json(draft);
            let response = send(request, TIMEOUT).await;
            let response = response.with_context(|| format!("POST {path}"))?;
            let body = response.json();
            match response.status {
                201 => {
                    let id = body["id"].as_str().map(str::to_owned);
                    return id.with_context(|| format!("POST {path} returned no id"));
                }
                429 | 503 => {
                    let seconds = body["retryAfter"].as_u64().unwrap_or(1);
                    sleep(Duration::from_secs(seconds)).await;
                }
                status => bail!("POST {path} returned {status}: {body}"),
            }
        }
    }
}
