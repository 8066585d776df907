//! The tails of all tenants that have readers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{Seq, TenantId};
use futures::StreamExt as _;
use parking_lot::RwLock;
use ports::{EventBus, EventLog, LogBounds, RepositoryError, Signal};
use tokio::{runtime::Handle, time::MissedTickBehavior};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Tail;
use crate::background::round;

/// The interval at which a tail is checked for readers.
const CHECK_INTERVAL: Duration = Duration::from_secs(20);
/// The number of consecutive checks without a reader after which a tail is dropped, about a minute.
const MAX_UNUSED_CHECKS: u32 = 3;

/// The tails of all tenants that have readers. A task of its own reads the log of each.
pub struct LogTails {
    events: Arc<dyn EventLog>,
    tails: Arc<TailMap>,
    tasks: TaskTracker,
    runtime: Handle,
    stop: CancellationToken,
}

impl LogTails {
    /// Creates tails of this log. Their tasks run on `runtime` until `stop`.
    pub fn new(
        events: Arc<dyn EventLog>,
        tasks: TaskTracker,
        runtime: Handle,
        stop: CancellationToken,
    ) -> Self {
        Self {
            events,
            tails: Arc::default(),
            tasks,
            runtime,
            stop,
        }
    }

    /// Makes the tails read the events that `bus` reports as appended to their logs, until `stop`.
    pub async fn run(self: Arc<Self>, bus: Arc<dyn EventBus>) {
        let tails = Arc::clone(&self.tails);
        let mut signals = bus.subscribe(Box::new(move |signal| match signal {
            Signal::LogAppended { tenant, .. } => tails.0.read().contains_key(tenant),
            _ => false,
        }));
        while let Some(Some(signal)) = self.stop.run_until_cancelled(signals.next()).await {
            if let Signal::LogAppended { tenant, head } = signal {
                self.report_head(&tenant, head);
            }
        }
    }

    /// Returns the tail of a tenant's log. A new tail begins at the log's head.
    pub async fn tail(&self, tenant: &TenantId) -> Result<Arc<Tail>, RepositoryError> {
        let tail = self.tails.find_or_create(tenant);
        // The tail is in the map before it begins, so that no reported head is lost meanwhile.
        let begun = tail.started.get_or_try_init(|| self.begin(&tail)).await;
        if let Err(error) = begun {
            self.tails.drop_unused(&tail, 2);
            return Err(error);
        }
        tail.mark_requested();
        Ok(tail)
    }

    async fn begin(&self, tail: &Arc<Tail>) -> Result<(), RepositoryError> {
        let LogBounds { head, .. } = self.events.bounds(tail.tenant()).await?;
        tail.begin_at(head);
        let reading = read_until_unused(
            Arc::clone(tail),
            Arc::clone(&self.events),
            Arc::clone(&self.tails),
            self.stop.clone(),
        );
        self.tasks.spawn_on(reading, &self.runtime);
        Ok(())
    }

    /// Returns the tracker of the tasks, and the runtime on which they run.
    pub(super) fn tasks(&self) -> (TaskTracker, Handle) {
        (self.tasks.clone(), self.runtime.clone())
    }

    /// Records that a tenant's log has reached a position. If the tenant has a tail, the log is
    /// read up to it.
    pub fn report_head(&self, tenant: &TenantId, head: Seq) {
        if let Some(tail) = self.tails.0.read().get(tenant) {
            tail.report_head(head);
        }
    }

    /// Returns the number of tenants whose logs are being read.
    pub fn count(&self) -> usize {
        self.tails.0.read().len()
    }

    /// Returns the size of the events in all tails, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let tails = self.tails.0.read();
        tails.values().map(|tail| tail.bytes() as u64).sum()
    }
}

/// The tails that are being read.
#[derive(Default)]
struct TailMap(RwLock<HashMap<TenantId, Arc<Tail>>>);

impl TailMap {
    fn find_or_create(&self, tenant: &TenantId) -> Arc<Tail> {
        let tails = self.0.read();
        if let Some(tail) = tails.get(tenant) {
            return Arc::clone(tail);
        }
        drop(tails);
        let mut tails = self.0.write();
        let tail = tails
            .entry(tenant.clone())
            .or_insert_with(|| Arc::new(Tail::new(tenant.clone())));
        Arc::clone(tail)
    }

    /// Drops a tail that has at most `holders` references, one of which is this map's. The next
    /// reader of the tenant begins a new tail.
    fn drop_unused(&self, tail: &Arc<Tail>, holders: usize) -> bool {
        let mut tails = self.0.write();
        // The write lock keeps others from cloning the tail out of the map meanwhile.
        let is_unused = Arc::strong_count(tail) <= holders;
        if is_unused {
            tails.remove(tail.tenant());
        }
        is_unused
    }
}

/// Reads a log as it grows, until it has no readers left or `stop`.
async fn read_until_unused(
    tail: Arc<Tail>,
    events: Arc<dyn EventLog>,
    tails: Arc<TailMap>,
    stop: CancellationToken,
) {
    let mut heads = tail.heads();
    let mut checks = tokio::time::interval(CHECK_INTERVAL);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unused_checks = 0;
    loop {
        let reading = round(tail.catch_up(&*events));
        if let Some(Some(Err(error))) = stop.run_until_cancelled(reading).await {
            tracing::warn!(
                error = ports::error::one_line(&error),
                tenant = %tail.tenant(),
                "cannot read the event log; its followers are delayed"
            );
        }
        tokio::select! {
            () = stop.cancelled() => return,
            // Never fails: the tail that is held here owns the sender.
            _ = heads.changed() => {}
            _ = checks.tick() => {
                // This task and the map hold the only two references.
                let is_unused = Arc::strong_count(&tail) <= 2 && !tail.take_requested();
                unused_checks = if is_unused { unused_checks + 1 } else { 0 };
                if unused_checks >= MAX_UNUSED_CHECKS && tails.drop_unused(&tail, 2) {
                    return;
                }
            }
        }
    }
}
