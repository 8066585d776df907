//! Rows of `feedback`.

use domain::{ConversationId, Feedback, PrincipalId, Seq, TenantId};

/// The key of a rating in a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FeedbackKey {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The position of the message.
    pub message_seq: i64,
    /// The principal that has rated; `None` for the user of the conversation.
    pub principal: Option<PrincipalId>,
}

/// A new rating, or a stored one with its new content. Its conversation has ratings from then on.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedbackRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// Its key.
    pub key: FeedbackKey,
    /// The rating.
    pub feedback: Feedback,
    /// Its new sort key in listings: the position of its event.
    pub sort_seq: Seq,
}

/// A rating that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackDeletion {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// Its key.
    pub key: FeedbackKey,
}
