//! Notes of staff about conversations, which neither users nor models see.

use serde::{Deserialize, Serialize};

use crate::{
    Author, ConversationId, InputFault, NoteId, Timestamp, UnknownMembers,
    author::{AuthorDraft, check_author},
    staff_message::check_content,
};

/// A note that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoteDraft {
    /// The text.
    #[cfg_attr(
        feature = "schema",
        schema(min_length = 1, max_length = 8000, pattern = r"^[^\x00]*$")
    )]
    pub content: String,
    /// The author. Default: `Staff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorDraft>,
}

impl NoteDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        check_content(&self.content, false)
            .into_iter()
            .chain(check_author(self.author.as_ref()))
            .collect()
    }

    /// Returns the note in a conversation.
    pub fn into_note(self, id: NoteId, conversation_id: ConversationId, now: Timestamp) -> Note {
        Note {
            id,
            conversation_id,
            author: AuthorDraft::author(self.author.as_ref()),
            content: self.content,
            created_at: now,
            unknown: UnknownMembers::default(),
        }
    }
}

/// A note of staff about a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The note's id.
    pub id: NoteId,
    /// The conversation of the note.
    pub conversation_id: ConversationId,
    /// The text.
    pub content: String,
    /// The author.
    pub author: Author,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}
