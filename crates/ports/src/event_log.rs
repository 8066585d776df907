//! The log of every tenant.

use async_trait::async_trait;
use domain::{AgentId, ConversationId, Event, EventType, PrincipalId, Seq, TenantId, TurnId};

use crate::RepositoryError;

/// What a principal may see of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventVisibility {
    /// Whether events of agents are shown.
    pub agents: bool,
    /// Whether events of conversations and turns are shown; otherwise only turns that
    /// `principal` started.
    pub conversations: bool,
    /// Who reads.
    pub principal: PrincipalId,
    /// When set, events of conversations and turns only of this user's conversations.
    pub user_id: Option<String>,
}

impl EventVisibility {
    /// Whether this event is shown: the rule by which [`EventLog::page`] chooses.
    pub fn shows(&self, logged: &LoggedEvent) -> bool {
        if logged.event.conversation_id.is_none() {
            return self.agents;
        }
        self.shows_within(logged.event.user_id.as_deref(), logged.asker.as_ref())
    }

    /// Whether something is shown that happens in a conversation of this user, in a turn that
    /// `asker` started, if it is of one.
    pub fn shows_within(&self, user_id: Option<&str>, asker: Option<&PrincipalId>) -> bool {
        let may_read = self.conversations || asker == Some(&self.principal);
        let is_own = self.user_id.is_none() || self.user_id.as_deref() == user_id;
        may_read && is_own
    }
}

/// An event, and what is told of it to nobody.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The event.
    pub event: Event,
    /// Who started the turn that it speaks of, until that turn is purged.
    pub asker: Option<PrincipalId>,
}

/// One page of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Events after this position.
    pub since: Seq,
    /// The maximum number of events.
    pub limit: usize,
    /// The maximum size of the events' content together, in bytes as stored. The first event is
    /// returned whatever its size.
    pub bytes: usize,
    /// Only these types; all when empty.
    pub types: Vec<EventType>,
    /// Only those that concern this agent.
    pub agent_id: Option<AgentId>,
    /// Only those that concern this conversation.
    pub conversation_id: Option<ConversationId>,
    /// Only what the reader may see; everything when absent.
    pub visibility: Option<EventVisibility>,
}

/// Events in order, and where the log stands.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events that passed the filters, by `seq`.
    pub events: Vec<LoggedEvent>,
    /// The position up to which the log was scanned: where the next page begins.
    pub next_since: Seq,
    /// The oldest event still there; one more than the head when all are gone.
    pub first: Seq,
    /// The newest event.
    pub head: Seq,
}

impl EventPage {
    /// Where the log stood when it was read.
    pub const fn bounds(&self) -> LogBounds {
        LogBounds::new(self.first, self.head)
    }
}

/// Where a tenant's log begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBounds {
    /// The oldest event still there; one more than the head when all are gone.
    pub first: Seq,
    /// The newest event.
    pub head: Seq,
}

impl LogBounds {
    /// From the oldest event to the newest.
    pub const fn new(first: Seq, head: Seq) -> Self {
        Self { first, head }
    }

    /// Whether all that comes after `since` is there, or to come.
    pub fn reach(self, since: Seq) -> bool {
        since.plus(1) >= self.first && since <= self.head
    }
}

/// Where a tenant's log stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// The tenant.
    pub tenant: TenantId,
    /// The newest event.
    pub head: Seq,
}

/// What a cache needs to know of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedChange {
    /// Its position.
    pub seq: Seq,
    /// What happened; none when a newer version wrote a type that this one does not know. Whatever
    /// the ids name may have changed then.
    pub kind: Option<EventType>,
    /// The agent it concerns.
    pub agent_id: Option<AgentId>,
    /// The conversation it concerns.
    pub conversation_id: Option<ConversationId>,
    /// The turn it concerns.
    pub turn_id: Option<TurnId>,
}

/// The log of every tenant: gap-free, in the order of commits.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Reads a page. `first` and `head` MUST come from the same statement as the events. Scans at
    /// most 10,000 events, so a page may be short and still have more behind `next_since`. MUST NOT
    /// read the content of events that the page has no room for. Content
    /// is joined as it is now: a turn as the event's type says, a conversation as it is; what
    /// belongs to something deleted carries `EventData::DELETED`, and its asker all the same. When
    /// `since` is before the oldest event or after the head, there are no events.
    async fn page(
        &self,
        tenant: &TenantId,
        query: &EventQuery,
    ) -> Result<EventPage, RepositoryError>;

    /// Counts the events after `query.since` that pass the filters, up to `query.limit`, among the
    /// next 100,000 events. MUST NOT read their content.
    async fn count(&self, tenant: &TenantId, query: &EventQuery) -> Result<usize, RepositoryError>;

    /// Where the log of one tenant stands.
    async fn bounds(&self, tenant: &TenantId) -> Result<LogBounds, RepositoryError>;

    /// Where the logs of all tenants stand, in one statement.
    async fn heads(&self) -> Result<Vec<LogHead>, RepositoryError>;

    /// What changed after `since`, at most `limit` changes in order: what caches are dropped by.
    /// MUST tell events of unknown types too.
    async fn changes(
        &self,
        tenant: &TenantId,
        since: Seq,
        limit: usize,
    ) -> Result<Vec<LoggedChange>, RepositoryError>;
}
