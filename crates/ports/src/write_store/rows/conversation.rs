//! Rows of `conversations`.

use domain::{Conversation, ConversationId, Handover, Seq, TenantId, Timestamp};

/// A row of `conversations`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: Conversation,
    /// The number of turns that have started.
    pub turn_count: i64,
    /// The number of messages of staff.
    pub staff_messages: i64,
    /// The time at which it was imported, unless it began here.
    pub imported_at: Option<Timestamp>,
    /// Its sort key in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// The changed columns of a conversation with new messages or a turn whose status changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationAdvance {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// The `seq` of the last message, including the new ones.
    pub last_message_seq: i64,
    /// The number of messages that are superseded or deleted.
    pub superseded_count: i64,
    /// The number of messages of staff.
    pub staff_messages: i64,
    /// The number of turns that have started, including a new one.
    pub turn_count: i64,
    /// Its new `updated_at`.
    pub updated_at: Timestamp,
    /// The time of the last message, if there is a new one.
    pub last_message_at: Option<Timestamp>,
    /// The time since which the user waits for staff.
    pub waiting_since: Option<Timestamp>,
    /// The excerpt of the newest message, if it has changed.
    pub excerpt: Option<String>,
    /// Its new sort key in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// The next version of a conversation. Only the columns that clients can change are written.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationUpdate {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: Conversation,
    /// Its new sort key in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// A conversation that its agent has handed over to staff: the time of that is its new `updated_at`, too.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationHandover {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// Its new version.
    pub version: i64,
    /// The hand-over.
    pub handover: Handover,
    /// Its new sort key in listings: the position of its newest event.
    pub sort_seq: Seq,
}

/// A conversation that is marked as deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationDeletion {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub id: ConversationId,
    /// The time of the deletion.
    pub deleted_at: Timestamp,
}
