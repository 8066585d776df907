//! Invalidation of the caches by the changes that other processes make.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{EventType, Seq, TenantId};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{Clock, EventBus, EventLog, LogHead, LoggedChange, RepositoryError, Signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Caches, weight};
use crate::{background::round, realtime::LogTails};

/// The interval at which the heads of all tenants are read: the upper bound on the time until this
/// process applies a change of another node.
const INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of changes that one call reads.
const PAGE_CHANGES: usize = 1_000;
/// The maximum number of signals that are processed together.
const MAX_SIGNALS: usize = 1_024;
/// The time to wait before the log is read for a signal. Concurrent writes of this process are
/// recorded in any order, so a gap between them closes within this time, unless other processes
/// wrote it.
const SETTLE_TIME: Duration = Duration::from_millis(10);

/// The content of several signals.
enum Signalled {
    /// The newest head of each tenant.
    Heads(HashMap<TenantId, Seq>),
    /// Signals were lost, so the log of any tenant may have grown.
    Lost,
}

impl Signalled {
    fn of(signals: Vec<Signal>) -> Self {
        let mut heads = HashMap::new();
        for signal in signals {
            match signal {
                Signal::LogAppended { tenant, head } => {
                    let newest = heads.entry(tenant).or_insert(head);
                    *newest = head.max(*newest);
                }
                Signal::SignalsLost => return Self::Lost,
                _ => {}
            }
        }
        Self::Heads(heads)
    }
}

/// Follows the log and drops the cache entries that other processes have changed. It also reports
/// changes of turns that run here or have waiters here. Signals trigger a read at once; the heads,
/// which are read every second, are the upper bound for the caches and for the tails.
pub struct CacheInvalidator {
    events: Arc<dyn EventLog>,
    caches: Caches,
    clock: Arc<dyn Clock>,
    bus: Arc<dyn EventBus>,
    tails: Arc<LogTails>,
    heads: watch::Sender<Arc<[LogHead]>>,
}

/// The source of a head.
#[derive(Clone, Copy)]
enum HeadSource {
    /// The store: it has all changes up to there.
    Store,
    /// A signal: the store of this process may not have them yet.
    Signal,
}

impl CacheInvalidator {
    /// Creates an invalidator that keeps `caches` valid and reports heads to `tails`.
    pub fn new(
        events: Arc<dyn EventLog>,
        caches: Caches,
        clock: Arc<dyn Clock>,
        bus: Arc<dyn EventBus>,
        tails: Arc<LogTails>,
    ) -> Self {
        Self {
            events,
            caches,
            clock,
            bus,
            tails,
            heads: watch::Sender::new(Arc::default()),
        }
    }

    /// Subscribes to the heads of all logs, which are read every second.
    pub fn watch_heads(&self) -> watch::Receiver<Arc<[LogHead]>> {
        self.heads.subscribe()
    }

    /// Follows the log until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(self.follow_log()).await;
    }

    async fn follow_log(&self) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut signalled = self.signalled_heads();
        loop {
            let applied = tokio::select! {
                biased;
                _ = ticks.tick() => round(self.catch_up()).await,
                // If the bus ends, the ticks alone find every change.
                Some(signalled) = signalled.next() => match signalled {
                    Signalled::Heads(heads) => round(self.apply_up_to(heads)).await,
                    Signalled::Lost => round(self.catch_up()).await,
                },
            };
            if let Some(Err(error)) = applied {
                tracing::warn!(
                    error = ports::error::one_line(&error),
                    "cannot read the event log; retrying"
                );
            }
        }
    }

    /// Returns a stream of what signals report.
    fn signalled_heads(&self) -> BoxStream<'static, Signalled> {
        // Weak, because the progress owns the bus, which owns the filter.
        let applied = Arc::downgrade(&self.caches.applied);
        let signals = self.bus.subscribe(Box::new(move |signal| match signal {
            Signal::LogAppended { tenant, head } => applied
                .upgrade()
                .is_some_and(|applied| applied.is_behind(tenant, *head)),
            Signal::SignalsLost => true,
            _ => false,
        }));
        signals.ready_chunks(MAX_SIGNALS).map(Signalled::of).boxed()
    }

    /// Applies the changes of other processes up to these heads.
    async fn apply_up_to(&self, mut heads: HashMap<TenantId, Seq>) -> Result<(), RepositoryError> {
        heads.retain(|tenant, head| self.caches.applied.is_behind(tenant, *head));
        if heads.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(SETTLE_TIME).await;
        let heads = heads
            .into_iter()
            .map(|(tenant, head)| LogHead { tenant, head });
        self.apply_all(heads, HeadSource::Signal).await
    }

    /// Reads the heads of all logs once and applies the new changes.
    pub async fn catch_up(&self) -> Result<(), RepositoryError> {
        let read_at = self.clock.running_for();
        let heads = self.events.heads().await?;
        for head in &heads {
            metrics::gauge!("log_position", "tenant" => head.tenant.to_string())
                .set(u32::try_from(head.head.0).map_or(f64::MAX, f64::from));
            self.tails.report_head(&head.tenant, head.head);
        }
        self.caches.report_weight();
        weight::report("event_tails", self.tails.bytes());
        self.heads.send_replace(heads.as_slice().into());
        self.apply_all(heads, HeadSource::Store).await?;
        self.caches.applied.confirm(read_at);
        Ok(())
    }

    /// Applies the new changes of each tenant, even if the log of another tenant cannot be read.
    async fn apply_all(
        &self,
        heads: impl IntoIterator<Item = LogHead>,
        source: HeadSource,
    ) -> Result<(), RepositoryError> {
        let mut outcome = Ok(());
        for LogHead { tenant, head } in heads {
            outcome = outcome.and(self.apply(&tenant, head, source).await);
        }
        outcome
    }

    async fn apply(
        &self,
        tenant: &TenantId,
        head: Seq,
        source: HeadSource,
    ) -> Result<(), RepositoryError> {
        while let Some(position) = self.caches.applied.position(tenant)
            && position < head
        {
            let changes = self.events.changes(tenant, position, PAGE_CHANGES).await?;
            for change in &changes {
                self.drop_changed(tenant, change);
                self.report_turn(change);
            }
            let is_full = changes.len() == PAGE_CHANGES;
            // A page that is not full ends at the head of the store: the retention sweep removed
            // the missing changes, and nothing follows.
            let read_up_to = match source {
                HeadSource::Store if !is_full => Some(head),
                _ => changes.last().map(|change| change.seq),
            };
            if let Some(position) = read_up_to {
                self.caches.applied.advance(tenant, position);
            }
            if !is_full {
                break;
            }
        }
        Ok(())
    }

    /// Makes the waiters of a turn read it again, and stops a turn that runs here if another
    /// process has ended it.
    fn report_turn(&self, change: &LoggedChange) {
        if let Some(id) = change.turn_id {
            let has_ended = change.kind.is_some_and(EventType::is_end_of_turn);
            self.caches.live.on_remote_change(id, has_ended);
        }
    }

    fn drop_changed(&self, tenant: &TenantId, change: &LoggedChange) {
        if let Some(id) = change.conversation_id {
            let key = (tenant.clone(), id);
            let is_update = change.kind == Some(EventType::ConversationUpdated);
            let is_rating = change.kind == Some(EventType::MessageRated);
            if change.is_move {
                // Also a newer entry, which may be computed from an older one.
                let user_id = change.user_id.as_deref();
                self.caches.move_conversation(&key, user_id, change.seq);
            } else if !is_update && !is_rating {
                self.caches.states.remove_older(&key, change.seq);
            }
            let is_deletion = change.kind.is_some_and(EventType::is_deletion);
            if is_update || is_deletion || change.kind.is_none() {
                self.caches.contexts.mark_changed(key, change.seq);
            }
        }
        if let Some(id) = change.user_id.as_ref().filter(|_| !change.is_move) {
            let key = (tenant.clone(), id.clone());
            self.caches.users.mark_changed(key, change.seq);
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
