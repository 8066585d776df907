//! Events and filters, described by small numbers.

use application::realtime::EventFilter;
use domain::{
    AgentId, ConversationId, Event, EventData, EventType, PrincipalId, Seq, TenantId, Timestamp,
    event::{Tombstone, event_id},
};
use ports::{EventVisibility, LoggedEvent};
use uuid::Uuid;

/// The tenant whose log is followed.
pub(crate) fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().expect("the id of a tenant")
}

fn agent(number: u8) -> AgentId {
    AgentId::new(Uuid::from_u128(0xa0 + u128::from(number)))
}

fn conversation(number: u8) -> ConversationId {
    ConversationId::new(Uuid::from_u128(0xc0 + u128::from(number)))
}

fn principal(number: u8) -> PrincipalId {
    PrincipalId::new(format!("key:{number}"))
}

fn user(number: u8) -> String {
    format!("user {number}")
}

/// An event, described by small numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    pub(crate) kind: usize,
    pub(crate) agent: u8,
    /// `None` for events of agents.
    pub(crate) conversation: Option<u8>,
    pub(crate) user: Option<u8>,
    pub(crate) asker: Option<u8>,
    /// The size in bytes, without the ids.
    pub(crate) bytes: usize,
}

impl Sample {
    /// The event as a store would return it.
    pub(crate) fn logged(&self, seq: i64) -> LoggedEvent {
        let (seq, time) = (Seq(seq), Timestamp::from_milliseconds(seq));
        let of_conversation = EventType::ALL.iter().filter(|kind| !kind.is_of_agent());
        let of_agent = EventType::ALL.iter().filter(|kind| kind.is_of_agent());
        let kinds: Vec<_> = match self.conversation {
            Some(_) => of_conversation.collect(),
            None => of_agent.collect(),
        };
        let event = Event {
            seq,
            id: event_id(&tenant(), seq, time),
            kind: *kinds[self.kind % kinds.len()],
            time,
            tenant_id: tenant(),
            agent_id: Some(agent(self.agent)),
            conversation_id: self.conversation.map(conversation),
            user_id: self.user.map(user),
            turn_id: None,
            actor: PrincipalId::new("x".repeat(self.bytes)),
            data: EventData::AgentDeleted {
                agent: Tombstone {
                    id: agent(self.agent),
                    version: 1,
                },
            },
        };
        LoggedEvent {
            event,
            asker: self.asker.map(principal),
        }
    }

    /// An event of this type.
    pub(crate) fn of_type(kind: EventType) -> Self {
        let of_agent = kind.is_of_agent();
        let kinds = EventType::ALL
            .iter()
            .filter(|other| other.is_of_agent() == of_agent);
        Self {
            kind: kinds
                .clone()
                .position(|other| *other == kind)
                .expect("a type"),
            conversation: (!of_agent).then_some(0),
            ..Self::default()
        }
    }
}

/// A filter, described by small numbers.
#[derive(Debug, Clone)]
pub(crate) struct FilterSample {
    pub(crate) types: Vec<usize>,
    pub(crate) agent: Option<u8>,
    pub(crate) conversation: Option<u8>,
    pub(crate) agents: bool,
    pub(crate) conversations: bool,
    pub(crate) principal: u8,
    pub(crate) user: Option<u8>,
}

impl FilterSample {
    pub(crate) fn filter(&self) -> EventFilter {
        let kind = |number: &usize| EventType::ALL[number % EventType::ALL.len()];
        EventFilter {
            types: self.types.iter().map(kind).collect(),
            agent_id: self.agent.map(agent),
            conversation_id: self.conversation.map(conversation),
            visibility: EventVisibility {
                agents: self.agents,
                conversations: self.conversations,
                principal: principal(self.principal),
                user_id: self.user.map(user),
            },
        }
    }
}

/// A filter that matches every event.
pub(crate) fn everything() -> EventFilter {
    let sample = FilterSample {
        types: Vec::new(),
        agent: None,
        conversation: None,
        agents: true,
        conversations: true,
        principal: 0,
        user: None,
    };
    sample.filter()
}
