//! Rows of `conversation_notes`.

use domain::{ConversationId, Note, NoteId, Seq, TenantId};

/// A row of `conversation_notes`.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The note.
    pub note: Note,
    /// Its sort key in listings: the position of its event.
    pub sort_seq: Seq,
}

/// A note of a conversation: a fact that is read, or a row that is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NoteKey {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The note.
    pub id: NoteId,
}
