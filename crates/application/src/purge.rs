//! Removal of deleted and expired data, in the background.

use std::{sync::Arc, time::Duration};

use domain::{Timestamp, idempotency};
use parking_lot::Mutex;
use ports::{Maintenance, RepositoryError, RetentionCutoffs};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::background::{AFTER_START, every};

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
    /// The time within which deleted data is gone.
    within: Duration,
    /// The time of the first removal since the store was compacted last.
    removed_at: Mutex<Option<Instant>>,
}

impl Purge {
    /// Creates a purge of this store, after which no deleted data is in its files `within` this time.
    pub fn new(maintenance: Arc<dyn Maintenance>, within: Duration) -> Self {
        Self {
            maintenance,
            within,
            // A process before this one may have removed something.
            removed_at: Mutex::new(Some(Instant::now())),
        }
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
            self.removed_at.lock().get_or_insert_with(Instant::now);
            tracing::debug!(rows, "purged");
        }
        self.compact_if_due().await
    }

    /// Compacts the store some time after a removal: many removals then need it once.
    async fn compact_if_due(&self) -> Result<(), RepositoryError> {
        let removed_at = *self.removed_at.lock();
        if removed_at.is_none_or(|at| at.elapsed() < self.within / 4) {
            return Ok(());
        }
        self.maintenance.compact().await?;
        *self.removed_at.lock() = None;
        Ok(())
    }

    /// The time for which the turns of deleted resources stay readable. The rest of the time is for the removal.
    fn readable_for(&self) -> Duration {
        self.within / 2
    }

    /// Purges one chunk and returns the number of rows that it changed.
    pub async fn once(&self) -> Result<u64, RepositoryError> {
        let now = self.maintenance.now().await?.milliseconds();
        let before = |age: Duration| {
            Timestamp::from_milliseconds(now - i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
        };
        let cutoffs = RetentionCutoffs {
            deleted_before: before(self.readable_for()),
            records_before: before(idempotency::RETENTION),
            ended_before: before(GRACE),
        };
        self.maintenance.purge(CHUNK, cutoffs).await
    }
}
