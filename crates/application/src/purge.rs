//! Cleans up after deletions, in the background.

use std::{sync::Arc, time::Duration};

use domain::{Timestamp, idempotency};
use ports::{Maintenance, RepositoryError, RetentionCutoffs};
use tokio_util::sync::CancellationToken;

use crate::background::every;

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
}

impl Purge {
    /// A purge of this store.
    pub fn new(maintenance: Arc<dyn Maintenance>) -> Self {
        Self { maintenance }
    }

    /// Cleans up until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        every(INTERVAL, &stop, "the purge failed", || self.all(&stop)).await;
    }

    /// Cleans up chunk by chunk, until there is nothing left to do.
    async fn all(&self, stop: &CancellationToken) -> Result<(), RepositoryError> {
        while !stop.is_cancelled() {
            let rows = self.once().await?;
            if rows == 0 {
                break;
            }
            tracing::debug!(rows, "purged");
        }
        Ok(())
    }

    /// Cleans up one chunk; answers how many rows it touched.
    pub async fn once(&self) -> Result<u64, RepositoryError> {
        let now = self.maintenance.now().await?.milliseconds();
        let before = |age: Duration| {
            Timestamp::from_milliseconds(now - i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
        };
        let outdated = RetentionCutoffs {
            deleted_before: before(READABLE_FOR),
            claims_before: before(idempotency::RETENTION),
            ended_before: before(GRACE),
        };
        self.maintenance.purge(CHUNK, outdated).await
    }
}
