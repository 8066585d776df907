//! Follows the log and drops from the caches what others have changed.

use std::{sync::Arc, time::Duration};

use domain::{EventType, Seq, TenantId};
use ports::{Clock, EventLog, LoggedChange, RepositoryError};
use tokio_util::sync::CancellationToken;

use super::Caches;

/// How often the heads of all tenants are read: the bound on how long a change that another node
/// made goes unnoticed.
const INTERVAL: Duration = Duration::from_secs(1);
/// Changes read in one call.
const PAGE: usize = 1_000;

/// Follows the log and drops from the caches what others have changed.
pub struct LogTail {
    events: Arc<dyn EventLog>,
    caches: Caches,
    clock: Arc<dyn Clock>,
}

impl LogTail {
    /// A tail that keeps `caches` true.
    pub fn new(events: Arc<dyn EventLog>, caches: Caches, clock: Arc<dyn Clock>) -> Self {
        Self {
            events,
            caches,
            clock,
        }
    }

    /// Follows until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.catch_up().await {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "the event log cannot be read"
                );
            }
        }
    }

    /// Reads the heads once and applies what grew.
    pub async fn catch_up(&self) -> Result<(), RepositoryError> {
        let asked_at = self.clock.now();
        for head in self.events.heads().await? {
            metrics::gauge!("log_position", "tenant" => head.tenant.to_string())
                .set(u32::try_from(head.head.0).map_or(f64::MAX, f64::from));
            self.apply(&head.tenant, head.head).await?;
        }
        self.caches.applied.confirm(asked_at);
        Ok(())
    }

    async fn apply(&self, tenant: &TenantId, head: Seq) -> Result<(), RepositoryError> {
        while let Some(position) = self.caches.applied.position(tenant)
            && position < head
        {
            let changes = self.events.changes(tenant, position, PAGE).await?;
            for change in &changes {
                self.drop_changed(tenant, change);
            }
            // Fewer than a page: the retention sweep took the rest, and nothing follows.
            let read_up_to = changes.last().filter(|_| changes.len() == PAGE);
            self.caches
                .applied
                .advance(tenant, read_up_to.map_or(head, |change| change.seq));
        }
        Ok(())
    }

    fn drop_changed(&self, tenant: &TenantId, change: &LoggedChange) {
        if let Some(id) = change.turn_id {
            let has_ended = change.kind.is_some_and(EventType::is_end_of_turn);
            self.caches.live.changed_elsewhere(id, has_ended);
        }
        if let Some(id) = change.conversation_id
            && change.kind != Some(EventType::ConversationUpdated)
        {
            self.caches
                .heads
                .remove_older(&(tenant.clone(), id), change.seq);
        }
        if let Some(id) = change.agent_id
            && change.kind.is_none_or(EventType::is_of_agent)
        {
            self.caches
                .agents
                .mark_changed((tenant.clone(), id), change.seq);
        }
    }
}
