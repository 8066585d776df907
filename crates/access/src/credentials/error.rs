//! Errors of the use cases for keys and clients.

use domain::{CredentialId, CredentialKind, InputFault, Scopes};
use ports::RepositoryError;

use application::{IdempotencyConflict, idempotency::IdempotentError};

/// An error of a use case for keys and clients.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The caller's tenant has no key or client with this id.
    #[error("no such {}", .0.as_str())]
    NotFound(CredentialKind),
    /// The key or client is revoked or has expired.
    #[error("the {} is revoked or has expired", .0.as_str())]
    RevokedOrExpired(CredentialKind),
    /// The credential holds, or would hold, these scopes, which the caller lacks.
    #[error("the caller lacks the scopes {0:?}")]
    MissingScopes(Scopes),
    /// The request is not valid.
    #[error("the credential is not valid")]
    Invalid(Vec<InputFault>),
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The idempotency key was used by the same command before. Its response contained a secret,
    /// which is never sent twice.
    #[error("the idempotency key was used for {id} before")]
    SecretNotReplayable {
        /// The credential that the first request created or rotated.
        id: CredentialId,
    },
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyConflict),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl IdempotentError for CredentialError {
    fn is_rejection(&self) -> bool {
        !matches!(self, Self::Store(_))
    }
}
