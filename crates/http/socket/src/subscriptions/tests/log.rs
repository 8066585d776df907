//! An event log in memory.

use std::sync::{Mutex, MutexGuard};

use application::realtime::EventFilter;
use async_trait::async_trait;
use domain::{
    AgentId, ConversationId, Event, EventData, EventType, PrincipalId, Seq, TenantId, Timestamp,
    TurnId, event_data::ConversationMove,
};
use ports::{
    EventDecision, EventLog, EventPage, EventQuery, EventVisibility, LogBounds, LogHead,
    LoggedChange, LoggedEvent, RepositoryError,
};
use uuid::Uuid;
use writes::ShownEvents;

pub(super) fn agent(number: u8) -> AgentId {
    AgentId::new(Uuid::from_u128(0xa0 + u128::from(number)))
}

pub(super) fn conversation(number: u8) -> ConversationId {
    ConversationId::new(Uuid::from_u128(0xc0 + u128::from(number)))
}

pub(super) fn turn(number: u8) -> TurnId {
    TurnId::new(Uuid::from_u128(0xf0 + u128::from(number)))
}

pub(super) fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().unwrap()
}

/// The ids in an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEvent {
    pub(super) kind: EventType,
    pub(super) agent: u8,
    pub(super) conversation: Option<u8>,
    pub(super) turn: Option<u8>,
    pub(super) user: Option<&'static str>,
    /// True if the conversation has moved to `user` from Ada.
    pub(super) is_move: bool,
}

/// The move of a conversation from Ada to another user.
pub(super) fn move_to(conversation: u8, user: Option<&'static str>) -> NewEvent {
    NewEvent {
        kind: EventType::ConversationUpdated,
        conversation: Some(conversation),
        user,
        is_move: true,
        ..update_of(0)
    }
}

/// An update of an agent.
pub(super) fn update_of(agent: u8) -> NewEvent {
    NewEvent {
        kind: EventType::AgentUpdated,
        agent,
        conversation: None,
        turn: None,
        user: None,
        is_move: false,
    }
}

/// An event of a turn in a conversation with agent 0.
pub(super) fn turn_event(kind: EventType, conversation: u8, turn: u8) -> NewEvent {
    NewEvent {
        kind,
        conversation: Some(conversation),
        turn: Some(turn),
        ..update_of(0)
    }
}

fn logged(seq: i64, new_event: NewEvent) -> LoggedEvent {
    LoggedEvent {
        started_by: None,
        moved: new_event.is_move.then(|| ConversationMove {
            from: Some("ada".to_owned()),
            version: 1,
        }),
        is_for_staff: false,
        event: Event {
            seq: Seq(seq),
            id: Uuid::nil(),
            kind: new_event.kind,
            time: Timestamp::from_milliseconds(seq),
            tenant_id: tenant(),
            agent_id: Some(agent(new_event.agent)),
            conversation_id: new_event.conversation.map(conversation),
            user_id: new_event.user.map(ToOwned::to_owned),
            turn_id: new_event.turn.map(turn),
            actor: PrincipalId::new("system"),
            data: EventData::DELETED,
        },
    }
}

#[derive(Default)]
struct State {
    events: Vec<LoggedEvent>,
    /// The number of oldest events that were removed.
    trimmed: usize,
}

/// An event log in memory.
#[derive(Default)]
pub(super) struct MemoryLog(Mutex<State>);

impl MemoryLog {
    /// Creates a log that already holds these events.
    pub(super) fn of(new_events: impl IntoIterator<Item = NewEvent>) -> Self {
        let log = Self::default();
        log.append(new_events);
        log
    }

    /// Appends events.
    pub(super) fn append(&self, new_events: impl IntoIterator<Item = NewEvent>) {
        let mut state = self.state();
        for new_event in new_events {
            let seq = i64::try_from(state.events.len()).unwrap() + 1;
            state.events.push(logged(seq, new_event));
        }
    }

    /// Removes the oldest events.
    pub(super) fn trim(&self, count: usize) {
        self.state().trimmed += count;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The oldest and the newest position.
    pub(super) fn bounds(&self) -> (Seq, Seq) {
        let state = self.state();
        let number = |count: usize| i64::try_from(count).unwrap();
        (
            Seq(number(state.trimmed) + 1),
            Seq(number(state.events.len())),
        )
    }
}

#[async_trait]
impl EventLog for MemoryLog {
    async fn page(
        &self,
        _: &TenantId,
        query: &EventQuery,
        _: &dyn EventDecision,
    ) -> Result<EventPage, RepositoryError> {
        let (first, head) = self.bounds();
        let filter = EventFilter {
            types: query.types.clone(),
            agent_id: query.agent_id,
            conversation_id: query.conversation_id,
            visibility: query.visibility.clone().unwrap_or_else(everything),
        };
        let is_held = query.since.plus(1) >= first && query.since <= head;
        let since = usize::try_from(query.since.0).unwrap();
        let state = self.state();
        let kept = state
            .events
            .iter()
            .skip(if is_held { since } else { usize::MAX });
        let events: Vec<_> = kept
            .filter(|event| filter.matches(event))
            .take(query.limit)
            .cloned()
            .collect();
        let next_since = match events.last() {
            Some(last) if events.len() == query.limit => last.event.seq,
            _ => head,
        };
        Ok(EventPage {
            events,
            next_since,
            first,
            head,
        })
    }

    async fn count(&self, of: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError> {
        Ok(self.page(of, query, &ShownEvents).await?.events.len())
    }

    async fn bounds(&self, _: &TenantId) -> Result<LogBounds, RepositoryError> {
        let (first, head) = self.bounds();
        Ok(LogBounds::new(first, head))
    }

    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError> {
        let (tenant, head) = (tenant(), self.bounds().1);
        Ok(vec![LogHead { tenant, head }])
    }

    async fn changes(
        &self,
        _: &TenantId,
        _: Seq,
        _: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError> {
        unreachable!("caches are not tested here")
    }
}

/// The visibility of a caller that may see everything.
pub(super) fn everything() -> EventVisibility {
    EventVisibility {
        agents: true,
        whole_agents: true,
        users: true,
        conversations: true,
        principal: PrincipalId::new("ada"),
        user_id: None,
        reach: domain::AgentReach::ALL,
        audience: domain::Audience::Staff,
    }
}
