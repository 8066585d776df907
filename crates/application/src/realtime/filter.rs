//! Which events a reader is shown.

use domain::{AgentId, ConversationId, EventType, Principal, Scope, Seq};
use ports::{EventQuery, EventVisibility, LoggedEvent};

use super::PageSize;

/// Which events a reader is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    /// Only these types; all when empty.
    pub types: Vec<EventType>,
    /// Only those that concern this agent.
    pub agent_id: Option<AgentId>,
    /// Only those that concern this conversation.
    pub conversation_id: Option<ConversationId>,
    /// Only what the reader may see.
    pub visibility: EventVisibility,
}

impl EventFilter {
    /// Everything that this principal may see.
    pub fn of(principal: &Principal) -> Self {
        Self {
            types: Vec::new(),
            agent_id: None,
            conversation_id: None,
            visibility: visibility(principal),
        }
    }

    /// Whether this event is shown: the rule by which a store chooses for [`Self::query`].
    pub fn matches(&self, logged: &LoggedEvent) -> bool {
        let event = &logged.event;
        (self.types.is_empty() || self.types.contains(&event.kind))
            && (self.agent_id.is_none() || self.agent_id == event.agent_id)
            && (self.conversation_id.is_none() || self.conversation_id == event.conversation_id)
            && self.visibility.shows(logged)
    }

    /// Asks a store for the same.
    pub fn query(&self, since: Seq, size: PageSize) -> EventQuery {
        EventQuery {
            since,
            limit: size.events,
            bytes: size.bytes,
            types: self.types.clone(),
            agent_id: self.agent_id,
            conversation_id: self.conversation_id,
            visibility: Some(self.visibility.clone()),
        }
    }
}

/// What a principal may see of its tenant's log.
pub fn visibility(principal: &Principal) -> EventVisibility {
    EventVisibility {
        agents: principal.scopes.contains(Scope::AgentsRead),
        conversations: principal.scopes.contains(Scope::ConversationsRead),
        principal: principal.id.clone(),
        user_id: principal.confined_to().map(ToOwned::to_owned),
    }
}
