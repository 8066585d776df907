//! A note as it is stored.

use domain::{Author, ConversationId, FileReference, Note, NoteId, UnknownMembers};
use sqlx::types::Json;
use uuid::Uuid;

use crate::column::StoredTime;

/// A note as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredNote {
    id: Uuid,
    conversation_id: Uuid,
    content: String,
    files: Option<Json<Vec<FileReference>>>,
    author: Json<Author>,
    created_at: StoredTime,
}

impl From<StoredNote> for Note {
    fn from(row: StoredNote) -> Self {
        Self {
            id: NoteId::new(row.id),
            conversation_id: ConversationId::new(row.conversation_id),
            content: row.content,
            files: row.files.map_or_else(Vec::new, |files| files.0),
            author: row.author.0,
            created_at: row.created_at.0,
            unknown: UnknownMembers::default(),
        }
    }
}
