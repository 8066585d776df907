//! The error of the use cases of conversations.

use domain::{InputFault, Scope};
use ports::RepositoryError;
use writes::UnusableFile;

use crate::{IdempotencyConflict, idempotency::IdempotentError};

/// The error of a use case of conversations.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The conversation does not exist, or the caller may not know of it.
    #[error("no such conversation")]
    NotFound,
    /// The conversation has no such message of the agent or of staff.
    #[error("no such message")]
    MessageNotFound,
    /// The conversation has no such note.
    #[error("no such note")]
    NoteNotFound,
    /// A file does not exist, or the caller may not know of it.
    #[error("no such file")]
    FileNotFound,
    /// Other conversations use a file.
    #[error("other conversations use a file")]
    FileInUse,
    /// The agent does not exist.
    #[error("no such agent")]
    AgentNotFound,
    /// The conversation does not have a version that the caller accepts.
    #[error("the conversation has another version")]
    VersionMismatch,
    /// The conversation would not be valid.
    #[error("the conversation is not valid")]
    Invalid(Vec<InputFault>),
    /// The caller may not do this without a scope.
    #[error("needs the scope {}", .0.as_str())]
    NotPermitted(Scope),
    /// Only keys and clients may do this.
    #[error("only API keys and OAuth clients may do this")]
    NotForUsers,
    /// The caller would be staff in its own conversation.
    #[error("nobody acts for staff in their own conversation")]
    OwnConversation,
    /// The caller may not use this user id.
    #[error(
        "must be absent or the caller's own id: only `conversations:all` lets a user reach the \
         conversations of others"
    )]
    ForeignUser,
    /// The user has another conversation with the key.
    #[error("the user has another conversation with the key")]
    KeyInUse,
    /// Concurrent changes of the conversation continued; nothing was written.
    #[error("other requests change the conversation at the same time")]
    Contended,
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyConflict),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl From<UnusableFile> for ConversationError {
    fn from(file: UnusableFile) -> Self {
        match file {
            UnusableFile::NotFound(_) => Self::FileNotFound,
            UnusableFile::InUse(_) => Self::FileInUse,
        }
    }
}

impl IdempotentError for ConversationError {
    fn is_rejection(&self) -> bool {
        !matches!(self, Self::Store(_))
    }
}
