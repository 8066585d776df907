//! The position up to which this process has applied each tenant's log.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{Seq, TenantId};
use parking_lot::RwLock;
use ports::{EventBus, Signal};
use tokio::sync::Notify;
use writes::Committed;

use super::TRUSTED_FOR;

/// The state of one tenant's log in this process.
#[derive(Debug, Default)]
struct Applied {
    /// The position from which the tenant is followed: earlier changes were never read.
    from: i64,
    /// The position up to which the caches reflect every change.
    up_to: i64,
    /// The newest position that the log is known to have.
    known: i64,
    /// Own writes after a gap of changes that were not applied yet: first → last.
    ahead: BTreeMap<i64, i64>,
}

impl Applied {
    fn following(position: Seq) -> Self {
        Self {
            from: position.0,
            up_to: position.0,
            known: position.0,
            ahead: BTreeMap::new(),
        }
    }

    fn record(&mut self, first: i64, last: i64) {
        if first <= self.from {
            // The write is older than the followed range, so changes of other processes after it
            // may not have been applied. Following restarts before the write.
            *self = Self {
                known: self.known,
                ..Self::following(Seq(first - 1))
            };
        }
        if first > self.up_to + 1 {
            self.ahead.insert(first, last);
            return;
        }
        self.up_to = self.up_to.max(last);
        while let Some(entry) = self.ahead.first_entry() {
            if *entry.key() > self.up_to + 1 {
                break;
            }
            self.up_to = self.up_to.max(entry.remove());
        }
    }
}

/// Tracks the position up to which this process has applied each tenant's log. Own writes are
/// recorded as they commit, so the log is read only where other processes have written.
pub struct LogProgress {
    bus: Arc<dyn EventBus>,
    tenants: RwLock<HashMap<TenantId, Applied>>,
    /// Notified of each change of a position.
    changed: Notify,
    /// The end of the time for which the caches may be used, in milliseconds of the monotonic
    /// clock.
    trusted_until: AtomicU64,
}

impl LogProgress {
    /// Creates a tracker that follows no tenant. It publishes own writes on `bus`.
    pub fn new(bus: Arc<dyn EventBus>) -> Self {
        Self {
            bus,
            tenants: RwLock::default(),
            changed: Notify::new(),
            trusted_until: AtomicU64::new(0),
        }
    }

    /// Records a write of this process that its caches reflect, and publishes the new head of the
    /// log.
    pub fn record_write(&self, tenant: &TenantId, committed: Committed) {
        self.apply(tenant, committed);
        self.publish_head(tenant, committed.last);
    }

    /// Publishes the new head of the log after a write that the caches do not reflect yet: the
    /// change is read from the log like the writes of other processes. The tenant is followed at
    /// the latest from there, so that later changes of other processes are applied.
    pub fn announce(&self, tenant: &TenantId, committed: Committed) {
        self.follow(tenant, committed.first.plus(-1));
        self.publish_head(tenant, committed.last);
    }

    fn publish_head(&self, tenant: &TenantId, head: Seq) {
        let tenant = tenant.clone();
        self.bus.publish(Signal::LogAppended { tenant, head });
    }

    fn apply(&self, tenant: &TenantId, committed: Committed) {
        let Committed { first, last } = committed;
        let mut tenants = self.tenants.write();
        // The caches contain the write now, so later changes of other processes must be applied.
        let applied = tenants
            .entry(tenant.clone())
            .or_insert_with(|| Applied::following(first.plus(-1)));
        applied.record(first.0, last.0);
        drop(tenants);
        self.changed.notify_waiters();
    }

    /// Begins to follow a tenant at the position of a load, if it is not followed yet. Returns
    /// whether the loaded value can be kept valid: it cannot if the tenant is followed from a later
    /// position.
    pub fn follow(&self, tenant: &TenantId, position: Seq) -> bool {
        let tenants = self.tenants.read();
        if let Some(applied) = tenants.get(tenant) {
            return position.0 >= applied.from;
        }
        drop(tenants);
        let mut tenants = self.tenants.write();
        let applied = tenants
            .entry(tenant.clone())
            .or_insert_with(|| Applied::following(position));
        position.0 >= applied.from
    }

    /// Records that the log was read without a gap up to `position`, and that its changes were
    /// applied.
    pub(super) fn advance(&self, tenant: &TenantId, position: Seq) {
        let mut tenants = self.tenants.write();
        if let Some(applied) = tenants.get_mut(tenant) {
            let first = applied.up_to + 1;
            applied.record(first, position.0);
        }
        drop(tenants);
        self.changed.notify_waiters();
    }

    /// Waits until every change of a followed tenant up to `position` is reflected.
    pub async fn reaches(&self, tenant: &TenantId, position: Seq) {
        loop {
            let changed = self.changed.notified();
            if self.position(tenant).is_some_and(|up_to| up_to >= position) {
                return;
            }
            changed.await;
        }
    }

    /// Returns the position up to which every change of a followed tenant is reflected.
    pub fn position(&self, tenant: &TenantId) -> Option<Seq> {
        let tenants = self.tenants.read();
        tenants.get(tenant).map(|applied| Seq(applied.up_to))
    }

    /// Returns the newest position of a followed tenant that this process knows, also beyond changes
    /// that are not reflected yet.
    pub fn newest(&self, tenant: &TenantId) -> Option<Seq> {
        let tenants = self.tenants.read();
        let applied = tenants.get(tenant)?;
        let ahead = applied.ahead.last_key_value().map(|(_, last)| *last);
        let known = applied.known.max(applied.up_to);
        Some(Seq(ahead.map_or(known, |last| last.max(known))))
    }

    /// Records that a tenant's log has reached a position, which is followed from there if the tenant
    /// is not followed yet. The changes up to there need not be applied.
    pub fn learn(&self, tenant: &TenantId, head: Seq) {
        self.follow(tenant, head);
        let mut tenants = self.tenants.write();
        if let Some(applied) = tenants.get_mut(tenant) {
            applied.known = applied.known.max(head.0);
        }
    }

    /// Returns whether a followed tenant's log has changes up to `head` that are not reflected.
    pub fn is_behind(&self, tenant: &TenantId, head: Seq) -> bool {
        self.position(tenant)
            .is_some_and(|position| position < head)
    }

    /// Records the time at which the heads were read, as `Clock::running_for` measures it. Every
    /// earlier change is applied.
    pub(super) fn confirm(&self, at: Duration) {
        let until = u64::try_from((at + TRUSTED_FOR).as_millis()).unwrap_or(u64::MAX);
        self.trusted_until.store(until, Ordering::Release);
    }

    /// Returns whether the caches may be used at `now`, as `Clock::running_for` measures it.
    pub fn is_trusted(&self, now: Duration) -> bool {
        now < Duration::from_millis(self.trusted_until.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests;
