//! Notes of staff about conversations, which neither users nor models see.

use serde::{Deserialize, Serialize};

use crate::{
    Author, ConversationId, FileReference, InputFault, NoteId, Timestamp, UnknownMembers,
    author::{AuthorDraft, check_author},
    staff_message::{check_content, check_files},
};

/// A note that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoteDraft {
    /// The text. It may be absent or empty only with `files`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(max_length = 8000, pattern = r"^[^\x00]*$"))]
    pub content: String,
    /// The ids of the files of the note, each once. A file that another conversation uses cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schema(max_items = 8))]
    pub files: Vec<String>,
    /// The author. Default: `Staff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorDraft>,
}

impl NoteDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        check_content(&self.content, !self.files.is_empty())
            .into_iter()
            .chain(check_files(&self.files))
            .chain(check_author(self.author.as_ref()))
            .collect()
    }

    /// Returns the note in a conversation, with the files that it names.
    pub fn into_note(
        self,
        (conversation_id, id): (ConversationId, NoteId),
        files: Vec<FileReference>,
        now: Timestamp,
    ) -> Note {
        Note {
            id,
            conversation_id,
            author: AuthorDraft::author(self.author.as_ref()),
            content: self.content,
            files,
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
    /// The files. Who may not read notes may not read those that no message has.
    pub files: Vec<FileReference>,
    /// The author.
    pub author: Author,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}
