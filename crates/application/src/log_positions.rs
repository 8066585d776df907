//! The positions that this process has reached in the logs, for clients that read through another
//! node than they wrote.

use std::{sync::Arc, time::Duration};

use domain::{Seq, TenantId};
use ports::{EventBus, EventLog, RepositoryError, Signal};
use tokio::time::{Instant, sleep};

use crate::cache::LogProgress;

/// The pause between two looks at a log that is behind.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The positions that this process has reached in the logs.
pub struct LogPositions {
    applied: Arc<LogProgress>,
    events: Arc<dyn EventLog>,
    bus: Arc<dyn EventBus>,
}

impl LogPositions {
    /// Creates the positions of the logs in `events`, as far as the caches have `applied` them.
    pub fn new(
        applied: Arc<LogProgress>,
        events: Arc<dyn EventLog>,
        bus: Arc<dyn EventBus>,
    ) -> Self {
        Self {
            applied,
            events,
            bus,
        }
    }

    /// Returns a position of a tenant's log that is not older than a write that has just been
    /// answered. `is_own` is true if this process wrote it, and so knows its position.
    pub async fn newest(&self, tenant: &TenantId, is_own: bool) -> Result<Seq, RepositoryError> {
        match self.applied.newest(tenant) {
            Some(newest) if is_own => Ok(newest),
            _ => Ok(self.events.bounds(tenant).await?.head),
        }
    }

    /// Waits until reads of this process reflect a position, and returns false if they do not after
    /// `wait`.
    pub async fn reaches(
        &self,
        tenant: &TenantId,
        position: Seq,
        wait: Duration,
    ) -> Result<bool, RepositoryError> {
        let deadline = Instant::now() + wait;
        while !self.reflects(tenant, position).await? {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(true)
    }

    /// Returns whether the store and the caches of this process reflect a position.
    async fn reflects(&self, tenant: &TenantId, position: Seq) -> Result<bool, RepositoryError> {
        let is_applied = || {
            self.applied
                .position(tenant)
                .map(|applied| applied >= position)
        };
        if is_applied() == Some(true) {
            return Ok(true);
        }
        let head = self.events.bounds(tenant).await?.head;
        if head < position {
            return Ok(false);
        }
        // From here on, a value that was loaded before `head` is not cached.
        self.applied.follow(tenant, head);
        let is_reflected = is_applied() == Some(true);
        if !is_reflected {
            // The caches have entries from before: they are dropped as for a signal of a node.
            let tenant = tenant.clone();
            self.bus.publish(Signal::LogAppended { tenant, head });
        }
        Ok(is_reflected)
    }
}
