//! The tails of all tenants that somebody listens to.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use domain::{Seq, TenantId};
use futures::StreamExt as _;
use ports::{EventBus, EventLog, LogBounds, RepositoryError, Signal};
use tokio::{runtime::Handle, time::MissedTickBehavior};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Tail;
use crate::background::round;

/// How often it is looked whether somebody still listens to a tail.
const LOOK: Duration = Duration::from_secs(20);
/// After so many looks in vain a tail is dropped: it has rested for a minute then.
const LOOKS: u32 = 3;

/// The tails of all tenants that somebody listens to, each read by a task of its own.
pub struct Feed {
    events: Arc<dyn EventLog>,
    tails: Arc<Tails>,
    tasks: TaskTracker,
    runtime: Handle,
    stop: CancellationToken,
}

impl Feed {
    /// A feed of this log. Its tasks run on `runtime` until `stop`.
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

    /// Reads at once what there is word of on `bus`, until `stop`.
    pub async fn run(self: Arc<Self>, bus: Arc<dyn EventBus>) {
        let mut signals = bus.subscribe();
        while let Some(Some(signal)) = self.stop.run_until_cancelled(signals.next()).await {
            if let Signal::LogAppended { tenant, head } = signal {
                self.note_head(&tenant, head);
            }
        }
    }

    /// The tail of a tenant's log; it begins at the head when nobody has listened to it lately.
    pub async fn tail(&self, tenant: &TenantId) -> Result<Arc<Tail>, RepositoryError> {
        let tail = self.tails.find_or_make(tenant);
        // It stands among the tails while it begins, so that no hint is lost meanwhile.
        let begun = tail.started.get_or_try_init(|| self.begin(&tail)).await;
        if let Err(error) = begun {
            self.tails.drop_unused(&tail, 2);
            return Err(error);
        }
        tail.touch();
        Ok(tail)
    }

    async fn begin(&self, tail: &Arc<Tail>) -> Result<(), RepositoryError> {
        let LogBounds { head, .. } = self.events.bounds(tail.tenant()).await?;
        tail.begin_at(head);
        let reading = read_on(
            Arc::clone(tail),
            Arc::clone(&self.events),
            Arc::clone(&self.tails),
            self.stop.clone(),
        );
        self.tasks.spawn_on(reading, &self.runtime);
        Ok(())
    }

    /// Whose its tasks are, and where they run.
    pub(super) fn tasks(&self) -> (TaskTracker, Handle) {
        (self.tasks.clone(), self.runtime.clone())
    }

    /// Notes a position that a tenant's log has reached: where somebody listens, the log is read
    /// up to it.
    pub fn note_head(&self, tenant: &TenantId, head: Seq) {
        let tails = self.tails.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tails.get(tenant) {
            tail.note_head(head);
        }
    }

    /// How many tenants' logs are being read.
    pub fn tails(&self) -> usize {
        let tails = self.tails.0.read().unwrap_or_else(PoisonError::into_inner);
        tails.len()
    }
}

impl Feed {
    /// Bytes of the events that all tails hold.
    pub(crate) fn bytes(&self) -> u64 {
        let tails = self.tails.0.read().unwrap_or_else(PoisonError::into_inner);
        tails.values().map(|tail| tail.bytes() as u64).sum()
    }
}

/// The tails that are being read.
#[derive(Default)]
struct Tails(RwLock<HashMap<TenantId, Arc<Tail>>>);

impl Tails {
    fn find_or_make(&self, tenant: &TenantId) -> Arc<Tail> {
        let tails = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = tails.get(tenant) {
            return Arc::clone(tail);
        }
        drop(tails);
        let mut tails = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let tail = tails
            .entry(tenant.clone())
            .or_insert_with(|| Arc::new(Tail::new(tenant.clone())));
        Arc::clone(tail)
    }

    /// Drops a tail unless somebody holds it beside this map and its `holders - 1` known ones.
    /// Whoever asks for the tenant afterwards begins a new one.
    fn drop_unused(&self, tail: &Arc<Tail>, holders: usize) -> bool {
        let mut tails = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Nobody can take it out of the map meanwhile.
        let is_unused = Arc::strong_count(tail) <= holders;
        if is_unused {
            tails.remove(tail.tenant());
        }
        is_unused
    }
}

/// Reads a log as it grows, until nobody listens any more or `stop`.
async fn read_on(
    tail: Arc<Tail>,
    events: Arc<dyn EventLog>,
    tails: Arc<Tails>,
    stop: CancellationToken,
) {
    let mut noted = tail.noted();
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut in_vain = 0;
    loop {
        let reading = round(tail.catch_up(&*events));
        if let Some(Some(Err(error))) = stop.run_until_cancelled(reading).await {
            tracing::warn!(
                error = ports::error::chain(&error),
                tenant = %tail.tenant(),
                "the event log cannot be read for those who listen"
            );
        }
        tokio::select! {
            () = stop.cancelled() => return,
            // Its sender lives in the tail that is held here.
            _ = noted.changed() => {}
            _ = looks.tick() => {
                // Held here and by the map alone.
                let is_unused = Arc::strong_count(&tail) <= 2 && tail.rested();
                in_vain = if is_unused { in_vain + 1 } else { 0 };
                if in_vain >= LOOKS && tails.drop_unused(&tail, 2) {
                    return;
                }
            }
        }
    }
}
