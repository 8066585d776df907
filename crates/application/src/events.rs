//! Reading the event log.

use std::sync::Arc;

use domain::{AgentId, ConversationId, EventType, Principal, Scope, Seq};
use ports::{EventLog, EventPage, EventQuery, EventVisibility, RepositoryError};

/// Why the log was not read.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The log no longer reaches back to the position, or not yet forward to it.
    #[error("the log does not reach this position")]
    CursorExpired {
        /// The oldest event still there.
        first: Seq,
        /// The newest event.
        head: Seq,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// Which events a page shows.
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

/// Reading the event log.
pub struct EventService {
    events: Arc<dyn EventLog>,
}

impl EventService {
    /// A service over this port.
    pub fn new(events: Arc<dyn EventLog>) -> Self {
        Self { events }
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
            None => self.events.bounds(&caller.tenant).await?.1,
        };
        let query = EventQuery {
            since,
            limit,
            types: listing.types,
            agent_id: listing.agent_id,
            conversation_id: listing.conversation_id,
            visibility: Some(visibility(caller)),
        };
        let page = self.events.page(&caller.tenant, &query).await?;
        // Between the two reads the log can only have grown, so a missing `since` is never "after
        // the head".
        if since.plus(1) < page.first || since > page.head {
            return Err(EventError::CursorExpired {
                first: page.first,
                head: page.head,
            });
        }
        Ok(page)
    }
}

fn visibility(caller: &Principal) -> EventVisibility {
    EventVisibility {
        agents: caller.scopes.contains(Scope::AgentsRead),
        conversations: caller.scopes.contains(Scope::ConversationsRead),
        principal: caller.id.clone(),
        user_id: caller.confined_to().map(ToOwned::to_owned),
    }
}
