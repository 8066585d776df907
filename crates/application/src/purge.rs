//! Removal of deleted and expired data, in the background.

use std::{sync::Arc, time::Duration};

use domain::{Timestamp, idempotency};
use ports::{Maintenance, RepositoryError, RetentionCutoffs};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::background::{AFTER_START, every};

/// The time for which the turns of deleted resources stay readable.
const READABLE_FOR: Duration = Duration::from_hours(24);
/// The time for which expired entries are kept after their expiry, because the clocks of nodes
/// differ.
const GRACE: Duration = Duration::from_mins(5);
/// The maximum number of rows of one transaction, small enough not to delay others.
const CHUNK: usize = 500;
/// The interval at which the purge runs.
const INTERVAL: Duration = Duration::from_secs(10);

/// Removes deleted and expired data in the background.
pub struct Purge {
    maintenance: Arc<dyn Maintenance>,
}

impl Purge {
    /// Creates a purge of this store.
    pub fn new(maintenance: Arc<dyn Maintenance>) -> Self {
        Self { maintenance }
    }

    /// Runs the purge until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        if stop.run_until_cancelled(sleep(AFTER_START)).await.is_none() {
            return;
        }
        every(
            INTERVAL,
            &stop,
            "cannot purge deleted data; retrying",
            || self.purge_all(&stop),
        )
        .await;
    }

    /// Purges chunk by chunk, until no rows are left to purge.
    async fn purge_all(&self, stop: &CancellationToken) -> Result<(), RepositoryError> {
        while !stop.is_cancelled() {
            let rows = self.once().await?;
            if rows == 0 {
                break;
            }
            tracing::debug!(rows, "purged");
        }
        Ok(())
    }

    /// Purges one chunk and returns the number of rows that it changed.
    pub async fn once(&self) -> Result<u64, RepositoryError> {
        let now = self.maintenance.now().await?.milliseconds();
        let before = |age: Duration| {
            Timestamp::from_milliseconds(now - i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
        };
        let cutoffs = RetentionCutoffs {
            deleted_before: before(READABLE_FOR),
            records_before: before(idempotency::RETENTION),
            ended_before: before(GRACE),
        };
        self.maintenance.purge(CHUNK, cutoffs).await
    }
}
