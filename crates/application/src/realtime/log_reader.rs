//! Reading a log from any position.

use std::{borrow::Cow, sync::Arc, time::Duration};

use domain::{Seq, TenantId};
use ports::{EventLog, EventPage, EventQuery, LogBounds, RepositoryError};
use tokio::time::timeout;

use super::{
    EventFilter, Follower, LogTails, PageSize, SerializedEvent, Tail, TailEvents,
    store_pages::{SerializedPage, StorePages},
};

/// The maximum time for which a tail may take to catch up; longer than a call of a store.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of reading a log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogRead {
    /// Events, oldest first.
    Events {
        /// The events that the filter matches.
        events: Vec<Arc<SerializedEvent>>,
        /// The position from which to continue.
        next: Seq,
        /// True if `next` is the end of the log as this process knows it. The log has grown once
        /// the tail's position changes. A reader that waits for the change must subscribe to it
        /// before it reads.
        at_tail: bool,
    },
    /// The position is outside the log: older than its beginning or newer than its head.
    Expired {
        /// The position of the oldest event in the log.
        first: Seq,
        /// The position of the newest event.
        head: Seq,
    },
}

/// Reads a log from any position: from the tail if it reaches back that far, otherwise from the
/// store. All readers share a few concurrent reads of the store. A reader that continues from each
/// `next` gets every event once and in order.
pub struct LogReader {
    tails: Arc<LogTails>,
    events: Arc<dyn EventLog>,
    pages: StorePages,
}

impl LogReader {
    /// Creates a reader of this log and its tails.
    pub fn new(tails: Arc<LogTails>, events: Arc<dyn EventLog>) -> Self {
        let (tasks, runtime) = tails.tasks();
        let pages = StorePages::new(Arc::clone(&events), tasks, runtime);
        Self {
            tails,
            events,
            pages,
        }
    }

    /// Returns the tail of a tenant's log.
    pub async fn tail(&self, tenant: &TenantId) -> Result<Arc<Tail>, RepositoryError> {
        self.tails.tail(tenant).await
    }

    /// Returns the newest position of a tenant's log, as the store knows it.
    pub async fn head(&self, tenant: &TenantId) -> Result<Seq, RepositoryError> {
        Ok(self.bounds(tenant).await?.head)
    }

    /// Waits until `tail` has been read up to the head of the stored log, and returns the log's
    /// bounds. Content that any node deleted before the call is not in the tail afterwards.
    pub async fn catch_up(&self, tail: &Tail) -> Result<LogBounds, RepositoryError> {
        let bounds = self.bounds(tail.tenant()).await?;
        let mut positions = tail.positions();
        tail.report_head(bounds.head);
        let reached = positions.wait_for(|position| *position >= bounds.head);
        match timeout(CATCH_UP_TIMEOUT, reached).await {
            Ok(_reached) => Ok(bounds),
            Err(elapsed) => Err(RepositoryError::Unavailable(elapsed.into())),
        }
    }

    /// Counts the events that match `query`, up to its limit.
    pub async fn count(
        &self,
        tenant: &TenantId,
        query: EventQuery,
    ) -> Result<usize, RepositoryError> {
        self.pages.count(tenant, query).await
    }

    /// Returns the oldest and the newest position of a tenant's log, as the store knows them.
    pub async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError> {
        self.events.bounds(tenant).await
    }

    /// Reads one page from the store, as soon as fewer than the maximum number of reads are
    /// running.
    pub async fn page(
        &self,
        tenant: &TenantId,
        filter: &EventFilter,
        since: Seq,
        size: PageSize,
    ) -> Result<EventPage, RepositoryError> {
        let query = filter.query(since, size);
        let mut page: EventPage = self.pages.read(tenant, query).await?;
        for logged in &mut page.events {
            if let Cow::Owned(seen) = filter.visibility.seen(logged) {
                logged.event = seen;
            } else if !filter.visibility.shows_whole(&logged.event)
                && let Some(reduced) = logged.event.reduced()
            {
                logged.event = reduced;
            }
        }
        Ok(page)
    }

    /// Follows a tenant's log from `since`, or from its head.
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

    /// Reads a page of the events after `since` that the filter matches.
    pub async fn read(
        &self,
        tail: &Tail,
        filter: &EventFilter,
        since: Seq,
        size: PageSize,
    ) -> Result<LogRead, RepositoryError> {
        if let Some(read) = read_tail(tail, filter, since, size) {
            return Ok(read);
        }
        let query = filter.query(since, size);
        let page: SerializedPage = self.pages.read(tail.tenant(), query).await?;
        let (first, head) = (page.first, page.head);
        if !LogBounds::new(first, head).reach(since) {
            return Ok(LogRead::Expired { first, head });
        }
        Ok(LogRead::Events {
            events: page.events,
            next: page.next,
            at_tail: page.next >= tail.position().min(page.head),
        })
    }
}

/// Reads a page from the tail; `None` if only the store can return it. This never blocks.
fn read_tail(tail: &Tail, filter: &EventFilter, since: Seq, size: PageSize) -> Option<LogRead> {
    let is_wanted = |event: &SerializedEvent| filter.matches(&event.logged);
    let TailEvents { events, next } = tail.read(since, size, is_wanted)?;
    Some(LogRead::Events {
        events,
        next,
        at_tail: next >= tail.position(),
    })
}
