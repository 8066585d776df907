//! Reading the event log.

use std::sync::Arc;

use domain::{AgentId, ConversationId, EventType, Principal, Seq, sizes::PAGE_BYTES};
use ports::{EventPage, LogBounds, RepositoryError};

use crate::realtime::{EventFilter, Follower, LogReader, PageSize};

/// Why the log was not read.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The log no longer reaches back to the position, or not yet forward to it.
    #[error("the log does not reach this position")]
    CursorExpired {
        /// The position.
        since: Seq,
        /// Where the log begins and ends.
        bounds: LogBounds,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// Which events a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventListing {
    /// Events after this position; the head when absent.
    pub since: Option<Seq>,
    /// Only these types; all when empty.
    pub types: Vec<EventType>,
    /// Only those of this agent.
    pub agent_id: Option<AgentId>,
    /// Only those of this conversation.
    pub conversation_id: Option<ConversationId>,
}

impl EventListing {
    /// What is asked for, as far as the caller may see it.
    fn into_filter(self, caller: &Principal) -> EventFilter {
        EventFilter {
            types: self.types,
            agent_id: self.agent_id,
            conversation_id: self.conversation_id,
            ..EventFilter::of(caller)
        }
    }
}

/// Reading the event log.
pub struct EventService {
    log: Arc<LogReader>,
}

impl EventService {
    /// A service over what reads the log for all.
    pub fn new(log: Arc<LogReader>) -> Self {
        Self { log }
    }

    /// Reads a page of what the caller may see.
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
        let query = listing.into_filter(caller).query(since, size);
        let page = self.log.page(&caller.tenant, query).await?;
        // Between the two reads the log can only have grown, so a missing `since` is never "after
        // the head".
        let bounds = page.bounds();
        if bounds.reach(since) {
            Ok(page)
        } else {
            Err(EventError::CursorExpired { since, bounds })
        }
    }

    /// Follows what the caller may see: what is there after `since`, and all that comes.
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
