//! Cleans up after deletions, in the background.

use std::{sync::Arc, time::Duration};

use domain::{Timestamp, idempotency};
use ports::{Clock, Maintenance, Outdated, RepositoryError};
use tokio_util::sync::CancellationToken;

/// How long turns of deleted things stay readable.
const READABLE_FOR: Duration = Duration::from_hours(24);
/// How long what has ended stays beyond its end: the clocks of nodes differ a little.
const GRACE: Duration = Duration::from_mins(5);
/// Rows cleaned up in one transaction: short enough not to hold up anybody.
const CHUNK: usize = 500;
/// How often it is looked for work.
const INTERVAL: Duration = Duration::from_secs(10);

/// Cleans up after deletions, in the background.
pub struct Purge {
    maintenance: Arc<dyn Maintenance>,
    clock: Arc<dyn Clock>,
}

impl Purge {
    /// A purge of this store.
    pub fn new(maintenance: Arc<dyn Maintenance>, clock: Arc<dyn Clock>) -> Self {
        Self { maintenance, clock }
    }

    /// Cleans up until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            while !stop.is_cancelled() {
                match self.once().await {
                    Ok(0) => break,
                    Ok(rows) => tracing::debug!(rows, "purged"),
                    Err(error) => {
                        tracing::warn!(error = ports::error::chain(&error), "the purge failed");
                        break;
                    }
                }
            }
        }
    }

    /// Cleans up one chunk; answers how many rows it touched.
    pub async fn once(&self) -> Result<u64, RepositoryError> {
        let now = self.clock.now().milliseconds();
        let before = |age: Duration| {
            Timestamp::from_milliseconds(now - i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
        };
        let outdated = Outdated {
            deleted_before: before(READABLE_FOR),
            claims_before: before(idempotency::RETENTION),
            ended_before: before(GRACE),
        };
        self.maintenance.purge(CHUNK, outdated).await
    }
}
