//! The rows that a transaction writes, in domain types.

use domain::{
    AgentId, Conversation, ConversationId, EventType, IdempotencyEntry, Message, NodeId,
    PrincipalId, Problem, Seq, TenantId, Timestamp, ToolCall, Turn, TurnId, TurnStatus,
};
use ports::FoundTurn;
use serde_json::Value;

/// All rows that one transaction writes. Each list is written to one table with one statement,
/// under the locks of the tenants in `heads`.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    /// New conversations.
    pub conversations: Vec<ConversationRow>,
    /// Conversations with new messages or a newly started turn.
    pub advances: Vec<ConversationAdvance>,
    /// New turns.
    pub turns: Vec<TurnRow>,
    /// Turns that end.
    pub ends: Vec<TurnEnd>,
    /// Queued turns that start.
    pub starts: Vec<TurnStart>,
    /// New messages.
    pub messages: Vec<MessageRow>,
    /// New events.
    pub events: Vec<EventRow>,
    /// Newly used keys. An existing record of such a key is expired or released, and is replaced.
    pub claims: Vec<ClaimRow>,
    /// Keys that are released for another use.
    pub released: Vec<ReleasedClaim>,
    /// The newest event of each tenant whose log grew.
    pub heads: Vec<(TenantId, Seq)>,
}

/// A row of `conversations`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: Conversation,
    /// The number of turns that have started.
    pub turn_count: i64,
    /// Its sort key in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// The changed columns of a conversation with new messages or a newly started turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationAdvance {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// The number of messages, including the new ones.
    pub message_count: i64,
    /// The number of turns that have started, including a new one.
    pub turn_count: i64,
    /// Its new `updated_at`.
    pub updated_at: Timestamp,
    /// The time of the last message, if there is a new one.
    pub last_message_at: Option<Timestamp>,
    /// Its new sort key in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// A row of `turns`. The turn's reply is a row of `messages`, and is only set here if it was
/// joined.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn as clients see it.
    pub turn: Turn,
    /// The principal that sent the message.
    pub principal: PrincipalId,
    /// The id of the user's message.
    pub message_id: domain::MessageId,
    /// The position of the user's message in the conversation; set when the turn starts.
    pub message_seq: Option<i64>,
    /// The number of the turn in its conversation, from 0; set when it starts.
    pub turn_number: Option<i64>,
    /// The position of the agent's message in the conversation.
    pub reply_seq: Option<i64>,
    /// The node that runs the turn, or ran it last.
    pub node: Option<NodeId>,
    /// The position of its `turn.queued` event.
    pub queued_seq: Option<Seq>,
    /// The idempotency key with which it began.
    pub claim: Option<ClaimName>,
}

impl TurnRow {
    /// Builds the user's message from the turn; `None` until the turn has started.
    pub fn user_message(&self) -> Option<Message> {
        Some(Message {
            id: self.message_id,
            conversation_id: self.turn.conversation_id,
            turn_id: Some(self.turn.id),
            seq: self.message_seq?,
            role: domain::Role::User,
            content: self.turn.input.clone(),
            created_at: self.turn.started_at?,
            engine: None,
            agent_version: None,
            finish_reason: None,
            usage: None,
        })
    }

    /// Adds the joined reply, and its properties that the turn repeats.
    #[must_use]
    pub fn with_reply(mut self, reply: Option<Message>) -> Self {
        if let Some(reply) = reply {
            self.turn.engine.clone_from(&reply.engine);
            self.turn.finish_reason = reply.finish_reason;
            self.turn.usage = reply.usage;
            self.turn.reply = Some(reply);
        }
        self
    }

    /// Converts the row to the result of a search; `user_id` is that of the turn's conversation.
    pub fn into_found_turn(self, user_id: Option<String>) -> FoundTurn {
        FoundTurn {
            turn: self.turn,
            message_id: self.message_id,
            principal: self.principal,
            user_id,
        }
    }
}

/// The name of an idempotency key within its principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimName {
    /// The operation that the key belongs to.
    pub operation: String,
    /// The client's key.
    pub key: String,
}

impl ClaimName {
    /// Builds the name from two columns that are both set or both null.
    pub fn from_columns(operation: Option<String>, key: Option<String>) -> Option<Self> {
        let (operation, key) = operation.zip(key)?;
        Some(Self { operation, key })
    }
}

/// The columns that the end of a turn changes.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// Its final status.
    pub status: TurnStatus,
    /// The position of the agent's message, if there is one.
    pub reply_seq: Option<i64>,
    /// Whether a fallback engine replied.
    pub degraded: bool,
    /// The tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// The reason of a failure.
    pub error: Option<Problem>,
    /// The time.
    pub finished_at: Timestamp,
}

/// The columns that the start of a queued turn changes.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// The node that runs the turn.
    pub node: NodeId,
    /// The agent's version at the start.
    pub agent_version: i64,
    /// The number of the turn in its conversation, from 0.
    pub turn_number: i64,
    /// The position of the user's message in the conversation.
    pub message_seq: i64,
    /// The time.
    pub started_at: Timestamp,
}

/// A row of `messages`.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The message.
    pub message: Message,
}

/// A row of `events`.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// The tenant that owns the log.
    pub tenant: TenantId,
    /// Its position.
    pub seq: Seq,
    /// The type of the event.
    pub kind: EventType,
    /// The time.
    pub time: Timestamp,
    /// The agent that it refers to.
    pub agent_id: Option<AgentId>,
    /// The conversation that it refers to.
    pub conversation_id: Option<ConversationId>,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The turn that it refers to.
    pub turn_id: Option<TurnId>,
    /// The principal that made the change.
    pub actor: PrincipalId,
    /// The tombstone of a deleted entity: its id and last version.
    pub data: Option<Value>,
    /// The agent after `agent.created` or `agent.updated`. All other content is joined when the
    /// log is read.
    pub snapshot: Option<Value>,
}

/// A row of `idempotency_records`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The claim.
    pub claim: IdempotencyEntry,
    /// The turn that it began, for chats.
    pub turn_id: Option<TurnId>,
}

impl ClaimRow {
    /// Builds the record of a claim that began no turn.
    pub fn without_turn(tenant: &TenantId, claim: Option<&IdempotencyEntry>) -> Option<Self> {
        claim.map(|claim| Self {
            tenant: tenant.clone(),
            claim: claim.clone(),
            turn_id: None,
        })
    }
}

/// A key that a failed turn releases for another use.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedClaim {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The principal that sent the key.
    pub principal: PrincipalId,
    /// The key.
    pub name: ClaimName,
    /// The turn that the key began. A record of another turn is not changed.
    pub turn_id: TurnId,
    /// The conversation of that turn.
    pub conversation_id: ConversationId,
}
