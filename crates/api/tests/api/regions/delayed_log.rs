//! A replica that has replayed the event log only up to a position.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use domain::{Seq, TenantId};
use ports::{
    EventDecision, EventLog, EventPage, EventQuery, LogBounds, LogHead, LoggedChange,
    RepositoryError, Storage,
};

/// The position up to which the replica has replayed every log; at first all of it.
#[derive(Clone)]
pub(crate) struct Replayed(Arc<AtomicI64>);

impl Replayed {
    pub(crate) fn everything() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }

    /// Replays nothing after a position until [`Self::resume`].
    pub(crate) fn stop_at(&self, position: i64) {
        self.0.store(position, Ordering::SeqCst);
    }

    /// Replays everything.
    pub(crate) fn resume(&self) {
        self.0.store(i64::MAX, Ordering::SeqCst);
    }

    pub(crate) fn wrap_storage(&self, storage: Storage) -> Storage {
        let events = Arc::new(DelayedLog(storage.events, self.clone()));
        Storage { events, ..storage }
    }

    fn head(&self, head: Seq) -> Seq {
        head.min(Seq(self.0.load(Ordering::SeqCst)))
    }
}

struct DelayedLog(Arc<dyn EventLog>, Replayed);

#[async_trait]
impl EventLog for DelayedLog {
    async fn page(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
        decision: &dyn EventDecision,
    ) -> Result<EventPage, RepositoryError> {
        let mut page = self.0.page(tenant, query, decision).await?;
        page.head = self.1.head(page.head);
        page.events.retain(|logged| logged.event.seq <= page.head);
        page.next_since = page.next_since.min(page.head.max(query.since));
        Ok(page)
    }

    async fn count(&self, tenant: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError> {
        self.0.count(tenant, query).await
    }

    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        let LogBounds { first, head } = self.0.bounds(tenant).await?;
        Ok(LogBounds::new(first, self.1.head(head)))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let heads = self.0.heads().await?.into_iter();
        let replayed = heads.map(|it| LogHead {
            head: self.1.head(it.head),
            ..it
        });
        Ok(replayed.collect())
    }

    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        let mut changes = self.0.changes(tenant, since, limit).await?;
        changes.retain(|change| change.seq <= self.1.head(change.seq));
        Ok(changes)
    }
}
