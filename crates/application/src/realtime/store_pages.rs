//! Reads of the event log in the store, a few at a time for all readers.

use std::sync::Arc;

use domain::{Seq, TenantId};
use ports::{EventLog, EventPage, EventQuery, RepositoryError};
use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use writes::ShownEvents;

use super::SerializedEvent;

/// The maximum number of concurrent reads. The smallest store has four connections for reading, and
/// a client that reopens many streams at once must leave some of them to others.
const MAX_CONCURRENT_READS: usize = 2;

/// A page of the store with serialized events.
pub(super) struct SerializedPage {
    /// The events that the filter matches.
    pub(super) events: Vec<Arc<SerializedEvent>>,
    /// The position from which to continue.
    pub(super) next: Seq,
    /// The position of the oldest event in the log.
    pub(super) first: Seq,
    /// The position of the newest event.
    pub(super) head: Seq,
}

impl From<EventPage> for SerializedPage {
    fn from(page: EventPage) -> Self {
        let events = page
            .events
            .into_iter()
            .map(SerializedEvent::from)
            .map(Arc::new);
        Self {
            events: events.collect(),
            next: page.next_since,
            first: page.first,
            head: page.head,
        }
    }
}

/// Reads pages of a store for all readers, a few at a time.
pub(super) struct StorePages {
    events: Arc<dyn EventLog>,
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
    runtime: Handle,
}

impl StorePages {
    /// Creates a reader of this log whose `tasks` run on `runtime`.
    pub(super) fn new(events: Arc<dyn EventLog>, tasks: TaskTracker, runtime: Handle) -> Self {
        Self {
            events,
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)),
            tasks,
            runtime,
        }
    }

    /// Reads a page as soon as fewer than [`MAX_CONCURRENT_READS`] reads are running. The read is
    /// aborted if the caller drops the future.
    ///
    /// The read is a task of its own because its caller may not be polled meanwhile: a socket whose
    /// client does not read would otherwise hold its permit, and a connection to the store. A task
    /// also keeps the work of serializing a page off the threads that serve requests.
    pub(super) async fn read<Page: From<EventPage> + Send + 'static>(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<Page, RepositoryError> {
        let (events, tenant) = (Arc::clone(&self.events), tenant.clone());
        self.with_permit(
            async move { Ok(events.page(&tenant, &query, &ShownEvents).await?.into()) },
        )
        .await
    }

    /// Counts events, under the same limit as pages.
    pub(super) async fn count(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<usize, RepositoryError> {
        let (events, tenant) = (Arc::clone(&self.events), tenant.clone());
        self.with_permit(async move { events.count(&tenant, &query).await })
            .await
    }

    async fn with_permit<T: Send + 'static>(
        &self,
        reading: impl Future<Output = Result<T, RepositoryError>> + Send + 'static,
    ) -> Result<T, RepositoryError> {
        let permits = Arc::clone(&self.permits);
        let reading = async move {
            // The semaphore is never closed, so this always returns a permit.
            let _permit = permits.acquire().await;
            reading.await
        };
        AbortOnDropHandle::new(self.tasks.spawn_on(reading, &self.runtime))
            .await
            .unwrap_or_else(|error| Err(RepositoryError::Unavailable(error.into())))
    }
}
