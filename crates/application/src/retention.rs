//! Removal of expired events from the log, in the background.

use std::{sync::Arc, time::Duration};

use domain::Timestamp;
use ports::{Maintenance, RepositoryError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::background::{AFTER_START, every};

/// The maximum number of events that one call removes, small enough not to delay others.
const CHUNK: usize = 500;
/// The interval at which expired events are removed.
const INTERVAL: Duration = Duration::from_mins(1);

/// Removes expired events from the log in the background.
pub struct LogRetention {
    maintenance: Arc<dyn Maintenance>,
    retention: Duration,
}

impl LogRetention {
    /// Creates a task that keeps events for `retention`.
    pub fn new(maintenance: Arc<dyn Maintenance>, retention: Duration) -> Self {
        Self {
            maintenance,
            retention,
        }
    }

    /// Removes expired events every minute until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        if stop.run_until_cancelled(sleep(AFTER_START)).await.is_none() {
            return;
        }
        every(
            INTERVAL,
            &stop,
            "cannot remove expired events; retrying",
            || async {
                let events = self.trim(&stop).await?;
                if events > 0 {
                    tracing::debug!(events, "expired events removed");
                }
                Ok::<_, RepositoryError>(())
            },
        )
        .await;
    }

    /// Removes all expired events chunk by chunk, and returns their number.
    async fn trim(&self, stop: &CancellationToken) -> Result<u64, RepositoryError> {
        let age = i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX);
        let now = self.maintenance.now().await?.milliseconds();
        let before = Timestamp::from_milliseconds(now.saturating_sub(age));
        let mut removed = 0;
        while !stop.is_cancelled() {
            let chunk = self.maintenance.trim_log(before, CHUNK).await?;
            removed += chunk;
            if chunk < CHUNK as u64 {
                break;
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests;
