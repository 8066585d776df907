//! Rows of `messages`.

use domain::{ConversationId, Message, TenantId, Timestamp, TurnId};

/// A row of `messages`.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The message.
    pub message: Message,
}

/// A message that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageDeletion {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The position of the message.
    pub seq: i64,
}

/// The messages of a conversation that become superseded, unless they are already. Those of staff stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupersededMessages {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The `seq` of the first of them; all later messages follow.
    pub from_seq: i64,
    /// The time.
    pub at: Timestamp,
}

/// A stored user message that another turn answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTurn {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The position of the message.
    pub seq: i64,
    /// The turn.
    pub turn_id: TurnId,
}

/// Messages that are copied into a new conversation: those that are not superseded, numbered
/// from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCopy {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation to copy from.
    pub from: ConversationId,
    /// The `seq` of the last message to copy.
    pub to_seq: i64,
    /// The new conversation.
    pub into: ConversationId,
}
