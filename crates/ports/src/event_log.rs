//! The event log of every tenant.

mod page;

use std::borrow::Cow;

use async_trait::async_trait;
use domain::{
    AgentId, AgentReach, Audience, ConversationId, Event, EventData, EventType, PrincipalId, Seq,
    TenantId, TurnId, event_data::ConversationMove,
};

pub use self::page::{
    ContentQuery, EventContent, EventDecision, EventRecord, EventScan, EventTurn, SelectedEvents,
};
use crate::RepositoryError;

/// The events of a log that a principal may read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a permission of its own"
)]
pub struct EventVisibility {
    /// Events of agents are visible. Events of neither an agent nor a conversation are visible only to
    /// those who see all others.
    pub agents: bool,
    /// Events of agents contain them as a whole; otherwise only what pages show of them.
    pub whole_agents: bool,
    /// Events of users are visible.
    pub users: bool,
    /// Events of conversations and turns are visible. If `false`, only events of turns that
    /// `principal` started are.
    pub conversations: bool,
    /// The principal that reads.
    pub principal: PrincipalId,
    /// If set, events of conversations and turns are visible only in this user's conversations.
    pub user_id: Option<String>,
    /// Only events of these agents and of their conversations are visible.
    pub reach: AgentReach,
    /// The audience for which tool calls are shown. Users see neither events of notes nor the ratings of others;
    /// otherwise it does not decide which events are visible.
    pub audience: Audience,
}

impl EventVisibility {
    /// Returns `true` if an event is visible. [`EventLog::page`] filters by the same rule.
    pub fn shows(&self, logged: &LoggedEvent) -> bool {
        let event = &logged.event;
        if event.kind.is_of_user() {
            return self.users && self.reach.is_all();
        }
        if !self.shows_kind(event.kind) {
            return false;
        }
        if event.conversation_id.is_none() {
            // An event with neither is of a newer version, and can be about anything in the tenant.
            let shows_all = self.conversations && self.user_id.is_none();
            let is_reached = self.reaches(event.agent_id);
            return self.agents && is_reached && (event.agent_id.is_some() || shows_all);
        }
        if logged.is_for_staff && self.audience == Audience::User {
            return false;
        }
        if self.lost_by(logged).is_some() {
            return self.conversations && self.reaches(event.agent_id);
        }
        let user = event.user_id.as_deref();
        self.shows_within(event.agent_id, user, logged.started_by.as_ref())
    }

    /// Returns whether the reader may see events of a type at all. Stores do not filter them, so a page may be
    /// shorter for users.
    pub fn shows_kind(&self, kind: EventType) -> bool {
        !kind.is_of_note() || self.audience == Audience::Staff
    }

    /// Returns the move by which the reader has lost the conversation of an event, if it has: to the reader,
    /// the conversation is deleted.
    fn lost_by<'e>(&self, logged: &'e LoggedEvent) -> Option<&'e ConversationMove> {
        let moved = logged.moved.as_ref()?;
        let was_own = self.user_id.is_some() && self.user_id == moved.from;
        (was_own && !self.is_own(logged.event.user_id.as_deref())).then_some(moved)
    }

    /// Returns an event that is visible as the reader sees it, apart from what [`Self::shows_whole`] hides.
    pub fn seen<'e>(&self, logged: &'e LoggedEvent) -> Cow<'e, Event> {
        match self.lost_by(logged) {
            Some(moved) => Cow::Owned(logged.event.lost(moved)),
            None => Cow::Borrowed(&logged.event),
        }
    }

    /// Returns the type of an event as the reader sees it.
    pub fn seen_type(&self, logged: &LoggedEvent) -> EventType {
        match self.lost_by(logged) {
            Some(_) => EventType::ConversationDeleted,
            None => logged.event.kind,
        }
    }

    /// Returns `true` if the event has moved a conversation to a user whose conversations the reader cannot
    /// see.
    pub fn is_moved_away(&self, logged: &LoggedEvent) -> bool {
        logged.moved.is_some() && !self.is_own(logged.event.user_id.as_deref())
    }

    fn is_own(&self, user_id: Option<&str>) -> bool {
        self.user_id.is_none() || self.user_id.as_deref() == user_id
    }

    /// Returns `true` if the reader sees all of an event that is visible.
    pub fn shows_whole(&self, event: &Event) -> bool {
        match event.data {
            EventData::Agent { .. } => self.whole_agents,
            _ => self.audience == Audience::Staff,
        }
    }

    fn reaches(&self, agent: Option<AgentId>) -> bool {
        self.reach.is_all() || agent.is_some_and(|id| self.reach.contains(id))
    }

    /// Returns `true` if a change in a conversation of `user_id` with this agent is visible. `started_by` is
    /// the principal that started the turn, if the change belongs to one.
    pub fn shows_within(
        &self,
        agent: Option<AgentId>,
        user_id: Option<&str>,
        started_by: Option<&PrincipalId>,
    ) -> bool {
        let may_read = self.conversations || started_by == Some(&self.principal);
        may_read && self.is_own(user_id) && self.reaches(agent)
    }
}

/// An event, and the internal data that decides about its visibility.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The event. Its user is that of its conversation at the time of the read.
    pub event: Event,
    /// The principal that started the event's turn, until that turn is purged. Never sent to
    /// clients.
    pub started_by: Option<PrincipalId>,
    /// The move to another user, if the event is one.
    pub moved: Option<ConversationMove>,
    /// True for the rating of a principal that is not the user of the conversation: users do not see it.
    pub is_for_staff: bool,
}

/// A request for one page of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// The position after which the page starts.
    pub since: Seq,
    /// The maximum number of events.
    pub limit: usize,
    /// The maximum size of the events' content together, in bytes as stored. The first event is
    /// returned whatever its size.
    pub bytes: usize,
    /// Only events of these types; empty for all types.
    pub types: Vec<EventType>,
    /// Only events of this agent.
    pub agent_id: Option<AgentId>,
    /// Only events of this conversation.
    pub conversation_id: Option<ConversationId>,
    /// Only events that are visible to the reader; `None` for all events.
    pub visibility: Option<EventVisibility>,
}

/// Events in order, and the bounds of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events that passed the filters, by `seq`.
    pub events: Vec<LoggedEvent>,
    /// The position up to which the log was scanned. The next page starts after it.
    pub next_since: Seq,
    /// The position of the oldest event that exists; one more than the head if none exists.
    pub first: Seq,
    /// The position of the newest event.
    pub head: Seq,
}

impl EventPage {
    /// Returns the bounds of the log at the time of the read.
    pub const fn bounds(&self) -> LogBounds {
        LogBounds::new(self.first, self.head)
    }
}

/// The first and the last position of a tenant's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBounds {
    /// The position of the oldest event that exists; one more than the head if none exists.
    pub first: Seq,
    /// The position of the newest event.
    pub head: Seq,
}

impl LogBounds {
    /// Creates bounds from the oldest event to the newest.
    pub const fn new(first: Seq, head: Seq) -> Self {
        Self { first, head }
    }

    /// Returns `true` if no event after `since` was removed, and `since` is not after the head.
    pub fn reach(self, since: Seq) -> bool {
        since.plus(1) >= self.first && since <= self.head
    }
}

/// The head of a tenant's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// The tenant.
    pub tenant: TenantId,
    /// The position of the newest event.
    pub head: Seq,
}

/// The part of an event that caches need to discard their entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedChange {
    /// The event's position.
    pub seq: Seq,
    /// The event's type. `None` if a newer version of the service wrote a type that this version
    /// does not know; anything with one of the ids may then have changed.
    pub kind: Option<EventType>,
    /// The agent that the event concerns.
    pub agent_id: Option<AgentId>,
    /// The conversation that the event concerns.
    pub conversation_id: Option<ConversationId>,
    /// The user that an event of a user concerns, or to whom a conversation moved.
    pub user_id: Option<String>,
    /// The turn that the event concerns.
    pub turn_id: Option<TurnId>,
    /// True if the conversation moved to another user.
    pub is_move: bool,
}

/// The event log of every tenant: without gaps, in the order of commits.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Reads a page whose content `decision` decides. `first` and `head` MUST come from the same
    /// statement as the events. The user of an event MUST be the one to whom its
    /// conversation belongs at the time of the read; to whom it belonged at the time of the event once it is
    /// deleted. Scans at most 10,000 events, so a page can be short although more
    /// events follow after `next_since`. MUST read no content but the selected one, with one
    /// statement for each kind that is wanted.
    /// Returns no events if `since` is before the oldest event or after the head.
    async fn page(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
        decision: &dyn EventDecision,
    ) -> Result<EventPage, RepositoryError>;

    /// Counts the events after `query.since` that pass the filters, up to `query.limit`, among the
    /// next 100,000 events. MUST NOT read their content.
    async fn count(&self, tenant: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError>;

    /// Returns the bounds of one tenant's log.
    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError>;

    /// Returns the heads of the logs of all tenants. MUST use one statement.
    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError>;

    /// Returns the changes after `since`, at most `limit`, in order, so that caches can discard
    /// stale entries. MUST include events of unknown types.
    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError>;
}
