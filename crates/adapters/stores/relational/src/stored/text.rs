//! The text of a message as it is stored.

use domain::{ConversationId, MessageId};
use ports::ConversationText;
use uuid::Uuid;

/// The text of a message as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredText {
    conversation_id: Uuid,
    seq: i64,
    id: Uuid,
    content: String,
}

impl From<StoredText> for ConversationText {
    fn from(row: StoredText) -> Self {
        Self {
            conversation_id: ConversationId::new(row.conversation_id),
            seq: row.seq,
            id: MessageId::new(row.id),
            content: row.content,
        }
    }
}
