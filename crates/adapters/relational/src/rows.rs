//! Rows as stores keep them, in the domain's types: what a transaction writes.

use domain::{
    AgentId, Conversation, ConversationId, EventType, IdempotencyClaim, Message, NodeId,
    PrincipalId, Problem, Seq, TenantId, Timestamp, ToolCall, Turn, TurnId, TurnStatus,
};
use serde_json::Value;

/// All that one transaction writes. Each list goes to one table in one statement; all of it is
/// written under the locks of the tenants in `heads`.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    /// New conversations.
    pub conversations: Vec<ConversationRow>,
    /// Conversations in which something was said or started.
    pub advances: Vec<ConversationAdvance>,
    /// New turns.
    pub turns: Vec<TurnRow>,
    /// Turns that reach their end.
    pub ends: Vec<TurnEnd>,
    /// Turns that waited and now run.
    pub starts: Vec<TurnStart>,
    /// New messages.
    pub messages: Vec<MessageRow>,
    /// New events.
    pub events: Vec<EventRow>,
    /// Keys that are used now; a record that is there already is outdated or released, and
    /// replaced.
    pub claims: Vec<ClaimRow>,
    /// Keys that may be used again.
    pub released: Vec<ReleasedClaim>,
    /// The newest event of each tenant whose log grew.
    pub heads: Vec<(TenantId, Seq)>,
}

/// A row of `conversations`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// Whose data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: Conversation,
    /// Turns that have started.
    pub turn_count: i64,
    /// Its place in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// How far a conversation has come.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationAdvance {
    /// Whose data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// Messages, the new ones included.
    pub message_count: i64,
    /// Turns that have started, the new one included.
    pub turn_count: i64,
    /// Its new `updated_at`.
    pub updated_at: Timestamp,
    /// When the last message was written, if there is a new one.
    pub last_message_at: Option<Timestamp>,
    /// Its new place in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// A row of `turns`. The turn's reply is a row of `messages`; it stands here when it was joined.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// Whose data.
    pub tenant: TenantId,
    /// The turn as clients see it.
    pub turn: Turn,
    /// Who asked.
    pub principal: PrincipalId,
    /// The id of the user's message.
    pub message_id: domain::MessageId,
    /// Its place in the conversation; set when the turn starts.
    pub message_seq: Option<i64>,
    /// The number of the turn in its conversation, from 0; set when it starts.
    pub turn_number: Option<i64>,
    /// The place of the agent's message in the conversation.
    pub reply_seq: Option<i64>,
    /// The process that runs it, or ran it last.
    pub node: Option<NodeId>,
    /// The position of its `turn.queued` event.
    pub queued_seq: Option<Seq>,
    /// The key that began it.
    pub claim: Option<ClaimName>,
}

impl TurnRow {
    /// The user's message: all of it stands in the turn. None until the turn has started.
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
}

/// Names a key within its principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimName {
    /// The operation it is for.
    pub operation: String,
    /// The client's key.
    pub key: String,
}

/// What the end of a turn changes in its row.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// Whose data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// Its final status.
    pub status: TurnStatus,
    /// The place of the agent's message, if there is one.
    pub reply_seq: Option<i64>,
    /// Whether a fallback answered.
    pub degraded: bool,
    /// Tools that were called.
    pub tool_calls: Vec<ToolCall>,
    /// Why it failed.
    pub error: Option<Problem>,
    /// When.
    pub finished_at: Timestamp,
}

/// What the start of a turn that waited changes in its row.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// Whose data.
    pub tenant: TenantId,
    /// The turn.
    pub id: TurnId,
    /// The process that runs it.
    pub node: NodeId,
    /// The agent's version at this moment.
    pub agent_version: i64,
    /// The number of the turn in its conversation, from 0.
    pub turn_number: i64,
    /// The place of the user's message in the conversation.
    pub message_seq: i64,
    /// When.
    pub started_at: Timestamp,
}

/// A row of `messages`.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// Whose data.
    pub tenant: TenantId,
    /// The message.
    pub message: Message,
}

/// A row of `events`.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Whose log.
    pub tenant: TenantId,
    /// Its position.
    pub seq: Seq,
    /// What happened.
    pub kind: EventType,
    /// When.
    pub time: Timestamp,
    /// The agent it concerns.
    pub agent_id: Option<AgentId>,
    /// The conversation it concerns.
    pub conversation_id: Option<ConversationId>,
    /// The person whose conversation it concerns.
    pub user_id: Option<String>,
    /// The turn it concerns.
    pub turn_id: Option<TurnId>,
    /// Who made the change.
    pub actor: PrincipalId,
    /// The id and last version of something deleted.
    pub data: Option<Value>,
    /// The agent after `agent.created` or `agent.updated`. All other content is joined when the
    /// log is read, and so is this.
    pub snapshot: Option<Value>,
}

/// A row of `idempotency_records`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimRow {
    /// Whose data.
    pub tenant: TenantId,
    /// The claim.
    pub claim: IdempotencyClaim,
    /// The turn that it began, for chat.
    pub turn_id: Option<TurnId>,
}

/// A key that its turn gives back.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedClaim {
    /// Whose data.
    pub tenant: TenantId,
    /// Whose key.
    pub principal: PrincipalId,
    /// The key.
    pub name: ClaimName,
    /// The turn that it began; a record of another turn stays as it is.
    pub turn_id: TurnId,
    /// Where that turn took place.
    pub conversation_id: ConversationId,
}
