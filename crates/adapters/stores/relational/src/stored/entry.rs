//! An entry that a search has found.

use domain::ConversationId;
use ports::{SearchMatch, SearchPosition};
use uuid::Uuid;

/// An entry that a search has found.
#[derive(sqlx::FromRow)]
pub struct FoundEntry {
    conversation_id: Uuid,
    message_seq: i64,
    sort_key: i64,
    is_repeated: bool,
}

impl From<FoundEntry> for SearchMatch {
    fn from(row: FoundEntry) -> Self {
        Self {
            position: SearchPosition {
                order: row.sort_key,
                conversation_id: ConversationId::new(row.conversation_id),
            },
            message_seq: row.message_seq,
            is_repeated: row.is_repeated,
        }
    }
}
