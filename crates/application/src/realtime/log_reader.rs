//! Reads a log on from any position.

use std::{sync::Arc, time::Duration};

use domain::{Seq, TenantId};
use ports::{EventLog, EventPage, EventQuery, LogBounds, RepositoryError};
use tokio::time::timeout;

use super::{
    EventFilter, Feed, Follower, PageSize, SerializedEvent, Tail, TailEvents,
    store_pages::{SerializedPage, StorePages},
};

/// The maximum time that a tail takes to catch up; longer than a call of a store.
const CATCH_UP: Duration = Duration::from_secs(5);

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// Events, oldest first.
    Events {
        /// Those that the filter shows.
        events: Vec<Arc<SerializedEvent>>,
        /// From where to read on.
        next: Seq,
        /// Whether that is as far as the log was known to go: more is there when the tail's
        /// position changes. Who waits for that must have begun to before it read.
        at_tail: bool,
    },
    /// The log no longer reaches back to the position, or not yet forward to it.
    Expired {
        /// The oldest event still there.
        first: Seq,
        /// The newest event.
        head: Seq,
    },
}

/// Reads a log on from any position: from memory where that reaches back so far, else from the
/// store, where all readers together read a few pages at a time. Whoever goes on from each `next`
/// sees every event once and in order.
pub struct LogReader {
    feed: Arc<Feed>,
    events: Arc<dyn EventLog>,
    pages: StorePages,
}

impl LogReader {
    /// A reader of this log and its feed.
    pub fn new(feed: Arc<Feed>, events: Arc<dyn EventLog>) -> Self {
        let (tasks, runtime) = feed.tasks();
        let pages = StorePages::new(Arc::clone(&events), tasks, runtime);
        Self {
            feed,
            events,
            pages,
        }
    }

    /// The tail to wait on.
    pub async fn tail(&self, tenant: &TenantId) -> Result<Arc<Tail>, RepositoryError> {
        self.feed.tail(tenant).await
    }

    /// The newest position of a tenant's log, as the store knows it.
    pub async fn head(&self, tenant: &TenantId) -> Result<Seq, RepositoryError> {
        Ok(self.bounds(tenant).await?.head)
    }

    /// Waits until `tail` has been read up to the head of the stored log, and returns the log's
    /// bounds. Content that any node deleted before the call is not in the tail afterwards.
    pub async fn catch_up(&self, tail: &Tail) -> Result<LogBounds, RepositoryError> {
        let bounds = self.bounds(tail.tenant()).await?;
        let mut positions = tail.positions();
        tail.note_head(bounds.head);
        let reached = positions.wait_for(|position| *position >= bounds.head);
        match timeout(CATCH_UP, reached).await {
            Ok(_reached) => Ok(bounds),
            Err(late) => Err(RepositoryError::Unavailable(late.into())),
        }
    }

    /// Counts the events that `query` asks for, up to its limit.
    pub async fn count(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<usize, RepositoryError> {
        self.pages.count(tenant, query).await
    }

    /// The oldest and the newest position of a tenant's log, as the store knows them.
    pub async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        self.events.bounds(tenant).await
    }

    /// Reads one page of the store when it is its turn.
    pub async fn page(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<EventPage, RepositoryError> {
        self.pages.read(tenant, query).await
    }

    /// Follows a tenant's log from `since` on, or from its head.
    pub async fn follow(
        self: &Arc<Self>,
        tenant: &TenantId,
        filter: EventFilter,
        since: Option<Seq>,
    ) -> Result<Follower, RepositoryError> {
        let tail = self.tail(tenant).await?;
        let bounds = self.catch_up(&tail).await?;
        let since = since.unwrap_or(bounds.head);
        Ok(Follower::new(Arc::clone(self), tail, filter, since))
    }

    /// Reads on from `since`: a page of events that the filter shows.
    pub async fn read(
        &self,
        tail: &Tail,
        filter: &EventFilter,
        since: Seq,
        size: PageSize,
    ) -> Result<Read, RepositoryError> {
        if let Some(read) = read_memory(tail, filter, since, size) {
            return Ok(read);
        }
        let query = filter.query(since, size);
        let page: SerializedPage = self.pages.read(tail.tenant(), query).await?;
        let (first, head) = (page.first, page.head);
        if !LogBounds::new(first, head).reach(since) {
            return Ok(Read::Expired { first, head });
        }
        Ok(Read::Events {
            events: page.events,
            next: page.next,
            at_tail: page.next >= tail.position().min(page.head),
        })
    }
}

/// The same from memory alone; `None` when the store must be asked. Waits for nothing.
fn read_memory(tail: &Tail, filter: &EventFilter, since: Seq, size: PageSize) -> Option<Read> {
    let is_wanted = |event: &SerializedEvent| filter.matches(&event.logged);
    let TailEvents { events, next } = tail.read(since, size, is_wanted)?;
    Some(Read::Events {
        events,
        next,
        at_tail: next >= tail.position(),
    })
}
