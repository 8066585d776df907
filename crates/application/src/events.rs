//! The use cases of the event log.

use std::sync::Arc;

use domain::{AgentId, ConversationId, EventType, Principal, Seq, sizes::PAGE_BYTES};
use ports::{EventPage, LogBounds, RepositoryError};

use crate::realtime::{EventFilter, Follower, LogReader, PageSize};

/// The error of reading the log.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The position is outside the log: older than its beginning or newer than its head.
    #[error("the log does not reach this position")]
    CursorExpired {
        /// The requested position.
        since: Seq,
        /// The beginning and the end of the log.
        bounds: LogBounds,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// The selection of events that a caller requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventListing {
    /// The position after which events are returned; the head if absent.
    pub since: Option<Seq>,
    /// The types of the events; all types if empty.
    pub types: Vec<EventType>,
    /// The agent that the events concern.
    pub agent_id: Option<AgentId>,
    /// The conversation that the events concern.
    pub conversation_id: Option<ConversationId>,
}

impl EventListing {
    /// Returns a filter of the requested events that the caller may see.
    fn into_filter(self, caller: &Principal) -> EventFilter {
        EventFilter {
            types: self.types,
            agent_id: self.agent_id,
            conversation_id: self.conversation_id,
            ..EventFilter::of(caller)
        }
    }
}

/// The use cases of the event log: read a page, and follow.
pub struct EventService {
    log: Arc<LogReader>,
}

impl EventService {
    /// Creates a service over the shared reader of the log.
    pub fn new(log: Arc<LogReader>) -> Self {
        Self { log }
    }

    /// Reads a page of the events that the caller may see.
    pub async fn page(
        &self,
        caller: &Principal,
        listing: EventListing,
        limit: usize,
    ) -> Result<EventPage, EventError> {
        let since = match listing.since {
            Some(since) => since,
            None => self.log.head(&caller.tenant).await?,
        };
        let size = PageSize {
            events: limit,
            bytes: PAGE_BYTES,
        };
        let filter = listing.into_filter(caller);
        let page = self.log.page(&caller.tenant, &filter, since, size).await?;
        // Between the two reads the log can only have grown, so a missing `since` is never "after
        // the head".
        let bounds = page.bounds();
        if bounds.reach(since) {
            Ok(page)
        } else {
            Err(EventError::CursorExpired { since, bounds })
        }
    }

    /// Follows the events that the caller may see: those after `since`, and all later ones.
    pub async fn follow(
        &self,
        caller: &Principal,
        listing: EventListing,
    ) -> Result<Follower, EventError> {
        let since = listing.since;
        let filter = listing.into_filter(caller);
        Ok(self.log.follow(&caller.tenant, filter, since).await?)
    }
}
