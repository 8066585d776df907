//! Reads pages of the store for all who ask for them, a few at a time.

use std::sync::Arc;

use domain::{Seq, TenantId};
use ports::{EventLog, EventPage, EventQuery, RepositoryError};
use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::SerializedEvent;

/// Pages that are read at once. The smallest store has four connections that read, and a client
/// that comes back to many streams at once must leave some of them to others.
const READ_AT_ONCE: usize = 2;

/// A page of the store, written out for those who follow.
pub(super) struct SerializedPage {
    /// The events that the filter shows.
    pub(super) events: Vec<Arc<SerializedEvent>>,
    /// From where to read on.
    pub(super) next: Seq,
    /// The oldest event still there.
    pub(super) first: Seq,
    /// The newest event.
    pub(super) head: Seq,
}

impl From<EventPage> for SerializedPage {
    fn from(page: EventPage) -> Self {
        let fed = page
            .events
            .into_iter()
            .map(SerializedEvent::from)
            .map(Arc::new);
        Self {
            events: fed.collect(),
            next: page.next_since,
            first: page.first,
            head: page.head,
        }
    }
}

/// The pages of a store, for all who follow or ask for one.
pub(super) struct StorePages {
    events: Arc<dyn EventLog>,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    runtime: Handle,
}

impl StorePages {
    /// The pages of this log, read by `tasks` on `runtime`.
    pub(super) fn new(events: Arc<dyn EventLog>, tasks: TaskTracker, runtime: Handle) -> Self {
        Self {
            events,
            places: Arc::new(Semaphore::new(READ_AT_ONCE)),
            tasks,
            runtime,
        }
    }

    /// Reads a page when it is its turn; reads no further when nobody waits for it any more.
    ///
    /// It is a task of its own because whoever waits need not be looked after meanwhile: a
    /// connection whose client does not read would keep its place, and the store's connection,
    /// from all others. And what a page takes to be written out is not taken from the threads that
    /// answer requests.
    pub(super) async fn read<Page: From<EventPage> + Send + 'static>(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<Page, RepositoryError> {
        let (events, tenant) = (Arc::clone(&self.events), tenant.clone());
        self.take_turn(async move { Ok(events.page(&tenant, &query).await?.into()) })
            .await
    }

    /// Counts events when it is its turn, like a page.
    pub(super) async fn count(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<usize, RepositoryError> {
        let (events, tenant) = (Arc::clone(&self.events), tenant.clone());
        self.take_turn(async move { events.count(&tenant, &query).await })
            .await
    }

    async fn take_turn<T: Send + 'static>(
        &self,
        reading: impl Future<Output = Result<T, RepositoryError>> + Send + 'static,
    ) -> Result<T, RepositoryError> {
        let places = Arc::clone(&self.places);
        let reading = async move {
            // Nobody closes it, so there is a place.
            let _place = places.acquire().await;
            reading.await
        };
        AbortOnDropHandle::new(self.tasks.spawn_on(reading, &self.runtime))
            .await
            .unwrap_or_else(|error| Err(RepositoryError::Unavailable(error.into())))
    }
}
