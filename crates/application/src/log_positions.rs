//! The positions that this process has reached in the logs, for clients that read through another
//! node than they wrote.

use std::{sync::Arc, time::Duration};

use domain::{Seq, TenantId};
use ports::{EventBus, EventLog, RepositoryError, Signal};
use tokio::time::timeout;

use crate::cache::LogProgress;

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
            _ => {
                let head = self.events.bounds(tenant).await?.head;
                self.applied.learn(tenant, head);
                Ok(head)
            }
        }
    }

    /// Returns the newest position of a tenant's log that this process knows without a read: not older
    /// than its own writes and the positions that [`Self::newest`] has returned.
    pub fn known(&self, tenant: &TenantId) -> Option<Seq> {
        self.applied.newest(tenant)
    }

    /// Waits until reads of this process reflect a position, and returns false if they do not after
    /// `wait`.
    pub async fn reaches(
        &self,
        tenant: &TenantId,
        position: Seq,
        wait: Duration,
    ) -> Result<bool, RepositoryError> {
        if self.reflects(tenant, position).await? {
            return Ok(true);
        }
        // The store's growth is signalled, and then applied to the caches.
        let applied = self.applied.reaches(tenant, position);
        if timeout(wait, applied).await.is_ok() {
            return Ok(true);
        }
        self.reflects(tenant, position).await
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
        // From here on, a value that was loaded before `head` is not cached.
        self.applied.follow(tenant, head);
        if head < position {
            return Ok(false);
        }
        let is_reflected = is_applied() == Some(true);
        if !is_reflected {
            // The caches have entries from before: they are dropped as for a signal of a node.
            let tenant = tenant.clone();
            self.bus.publish(Signal::LogAppended { tenant, head });
        }
        Ok(is_reflected)
    }
}
