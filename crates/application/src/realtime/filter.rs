//! The filter of the events that a reader may see and requests.

use domain::{
    AgentId, AgentReach, Audience, ConversationId, EventType, Principal, PrincipalId, Scope, Seq,
};
use ports::{EventQuery, EventVisibility, LoggedEvent};

use super::PageSize;

/// A filter of the events that a reader requests and may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    /// The types of the events; all types if empty.
    pub types: Vec<EventType>,
    /// The agent that the events concern.
    pub agent_id: Option<AgentId>,
    /// The conversation that the events concern.
    pub conversation_id: Option<ConversationId>,
    /// The part of the log that the reader may see.
    pub visibility: EventVisibility,
}

impl EventFilter {
    /// Returns a filter that matches every event that this principal may see.
    pub fn of(principal: &Principal) -> Self {
        Self {
            types: Vec::new(),
            agent_id: None,
            conversation_id: None,
            visibility: visibility(principal),
        }
    }

    /// Returns a filter that matches every event, for the process itself.
    pub fn everything() -> Self {
        let visibility = EventVisibility {
            agents: true,
            whole_agents: true,
            users: true,
            conversations: true,
            principal: PrincipalId::system(),
            user_id: None,
            reach: AgentReach::ALL,
            audience: Audience::Staff,
        };
        Self {
            types: Vec::new(),
            agent_id: None,
            conversation_id: None,
            visibility,
        }
    }

    /// Returns whether the filter matches an event. A store applies the same rule to
    /// [`Self::query`].
    pub fn matches(&self, logged: &LoggedEvent) -> bool {
        let event = &logged.event;
        let seen_type = || self.visibility.seen_type(logged);
        (self.types.is_empty() || self.types.contains(&seen_type()))
            && (self.agent_id.is_none() || self.agent_id == event.agent_id)
            && (self.conversation_id.is_none() || self.conversation_id == event.conversation_id)
            && self.visibility.shows(logged)
    }

    /// Returns the query of a store for the same events.
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

/// Returns the part of its tenant's log that a principal may see.
pub fn visibility(principal: &Principal) -> EventVisibility {
    let reads_agents = principal.scopes.contains(Scope::AgentsRead);
    EventVisibility {
        agents: reads_agents || principal.scopes.contains(Scope::ChatWrite),
        whole_agents: reads_agents,
        users: principal.scopes.contains(Scope::UsersAdmin),
        conversations: principal.scopes.contains(Scope::ConversationsRead),
        principal: principal.id.clone(),
        user_id: principal.confined_to().map(ToOwned::to_owned),
        reach: principal.agents.clone(),
        audience: principal.audience(),
    }
}
