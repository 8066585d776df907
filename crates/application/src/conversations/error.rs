//! Why a use case of conversations was refused.

use domain::Fault;
use ports::RepositoryError;

use crate::{IdempotencyRefused, idempotency::Refusal};

/// Why a use case of conversations was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// There is no such conversation that the caller may know of.
    #[error("no such conversation")]
    NotFound,
    /// There is no such agent.
    #[error("no such agent")]
    AgentNotFound,
    /// The conversation is not at the version that the caller named.
    #[error("the conversation has another version")]
    VersionMismatch,
    /// The conversation would not be valid.
    #[error("the conversation is not valid")]
    Invalid(Vec<Fault>),
    /// The caller may not use this user id.
    #[error(
        "must be absent or the caller's own id: only `conversations:all` lets a user reach the \
         conversations of others"
    )]
    ForeignUser,
    /// Others kept changing it at the same time; nothing was written.
    #[error("the conversation is changed too often at once")]
    Contended,
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyRefused),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl Refusal for ConversationError {
    fn is_of_store(&self) -> bool {
        matches!(self, Self::Store(_))
    }
}
