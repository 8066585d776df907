//! The hostile tenant.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;
use tokio::time::sleep;

use crate::rig::{http::ask, load::Endpoint};

/// The longest that a preparation may take: saves may have to wait for each other.
const PATIENCE: Duration = Duration::from_mins(1);

/// An ordinary key of a tenant of its own, with the default limits.
pub(super) struct Hostile {
    pub(super) endpoint: Endpoint,
}

impl Hostile {
    /// Makes an agent, and returns its id.
    pub(super) async fn make_agent(&self, draft: &Value) -> Result<String> {
        self.make("/api/agents", draft).await
    }

    /// Makes something, and returns its id. Waits when it comes too often.
    pub(super) async fn make(&self, path: &str, draft: &Value) -> Result<String> {
        let request = self.endpoint.request("POST", path, Some(draft));
        loop {
            let response = ask(self.endpoint.address, &request, PATIENCE).await;
            let response = response.map_err(|broken| anyhow!("POST {path} is {broken}"))?;
            let body = response.json();
            match response.status {
                201 => {
                    let id = body["id"].as_str().map(str::to_owned);
                    return id.with_context(|| format!("POST {path} returns no id"));
                }
                429 | 503 => {
                    let seconds = body["retryAfter"].as_u64().unwrap_or(1);
                    sleep(Duration::from_secs(seconds)).await;
                }
                status => bail!("POST {path} is answered {status}: {body}"),
            }
        }
    }
}
