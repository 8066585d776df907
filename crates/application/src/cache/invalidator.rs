//! Follows the log, drops from the caches what others have changed, and heeds what they did to
//! turns.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{EventType, Seq, TenantId};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{Clock, EventBus, EventLog, LogHead, LoggedChange, RepositoryError, Signal};
use tokio_util::sync::CancellationToken;

use super::{Caches, weight};
use crate::{background::round, realtime::Feed};

/// How often the heads of all tenants are read: the bound on how long a change that another node
/// made goes unnoticed.
const INTERVAL: Duration = Duration::from_secs(1);
/// Changes read in one call.
const PAGE: usize = 1_000;
/// Signals that are looked at together.
const SIGNALS: usize = 1_024;
/// What this process writes at the same time is noted in any order: a hole in it fills up by itself
/// in this time, or others have made it.
const SETTLING: Duration = Duration::from_millis(10);

/// Follows the log, drops from the caches what others have changed, and heeds what they did to
/// turns that run here or are waited for. Signals make it look at once; the heads that it reads
/// every second are the bound, for the feed too.
pub struct CacheInvalidator {
    events: Arc<dyn EventLog>,
    caches: Caches,
    clock: Arc<dyn Clock>,
    bus: Arc<dyn EventBus>,
    feed: Arc<Feed>,
}

impl CacheInvalidator {
    /// A tail that keeps `caches` true and `feed` up to date.
    pub fn new(
        events: Arc<dyn EventLog>,
        caches: Caches,
        clock: Arc<dyn Clock>,
        bus: Arc<dyn EventBus>,
        feed: Arc<Feed>,
    ) -> Self {
        Self {
            events,
            caches,
            clock,
            bus,
            feed,
        }
    }

    /// Follows until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(self.follow()).await;
    }

    async fn follow(&self) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut grown = self.grown();
        loop {
            let followed = tokio::select! {
                biased;
                _ = ticks.tick() => round(self.catch_up()).await,
                // Should the bus end, the heads still tell everything.
                Some(heads) = grown.next() => round(self.look_at(heads)).await,
            };
            if let Some(Err(error)) = followed {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "the event log cannot be read"
                );
            }
        }
    }

    /// The newest head of each tenant of whose growth there is word.
    fn grown(&self) -> BoxStream<'static, HashMap<TenantId, Seq>> {
        let signals = self.bus.subscribe().ready_chunks(SIGNALS);
        let newest = |signals: Vec<Signal>| {
            let mut heads = HashMap::new();
            for signal in signals {
                if let Signal::LogAppended { tenant, head } = signal {
                    let newest = heads.entry(tenant).or_insert(head);
                    *newest = head.max(*newest);
                }
            }
            heads
        };
        signals.map(newest).boxed()
    }

    /// Applies what others have written up to these heads.
    async fn look_at(&self, mut heads: HashMap<TenantId, Seq>) -> Result<(), RepositoryError> {
        heads.retain(|tenant, head| self.is_beyond(tenant, *head));
        if heads.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(SETTLING).await;
        let heads = heads
            .into_iter()
            .map(|(tenant, head)| LogHead { tenant, head });
        self.apply_all(heads).await
    }

    /// Reads the heads once and applies what grew.
    pub async fn catch_up(&self) -> Result<(), RepositoryError> {
        let asked_at = self.clock.running_for();
        let heads = self.events.heads().await?;
        for head in &heads {
            metrics::gauge!("log_position", "tenant" => head.tenant.to_string())
                .set(u32::try_from(head.head.0).map_or(f64::MAX, f64::from));
            self.feed.note_head(&head.tenant, head.head);
        }
        self.caches.report_weight();
        weight::report("event_tails", self.feed.bytes());
        self.apply_all(heads).await?;
        self.caches.applied.confirm(asked_at);
        Ok(())
    }

    /// Applies what each tenant's log holds, also when that of another cannot be read.
    async fn apply_all(
        &self,
        heads: impl IntoIterator<Item = LogHead>,
    ) -> Result<(), RepositoryError> {
        let mut outcome = Ok(());
        for LogHead { tenant, head } in heads {
            outcome = outcome.and(self.apply(&tenant, head).await);
        }
        outcome
    }

    fn is_beyond(&self, tenant: &TenantId, head: Seq) -> bool {
        let position = self.caches.applied.position(tenant);
        position.is_some_and(|position| position < head)
    }

    async fn apply(&self, tenant: &TenantId, head: Seq) -> Result<(), RepositoryError> {
        while let Some(position) = self.caches.applied.position(tenant)
            && position < head
        {
            let changes = self.events.changes(tenant, position, PAGE).await?;
            for change in &changes {
                self.drop_changed(tenant, change);
                self.wake_changed(change);
            }
            // Fewer than a page: the retention sweep took the rest, and nothing follows.
            let read_up_to = changes.last().filter(|_| changes.len() == PAGE);
            self.caches
                .applied
                .advance(tenant, read_up_to.map_or(head, |change| change.seq));
        }
        Ok(())
    }

    /// Lets those look who wait for a turn, and stops what this process runs of one that others
    /// have ended.
    fn wake_changed(&self, change: &LoggedChange) {
        if let Some(id) = change.turn_id {
            let has_ended = change.kind.is_some_and(EventType::is_end_of_turn);
            self.caches.live.changed_elsewhere(id, has_ended);
        }
    }

    fn drop_changed(&self, tenant: &TenantId, change: &LoggedChange) {
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
