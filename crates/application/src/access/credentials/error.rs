//! Why a use case of keys and clients was refused.

use domain::{CredentialId, CredentialKind, Fault, Scopes};
use ports::RepositoryError;

use crate::{IdempotencyRefused, idempotency::Refusal};

/// Why a use case of keys and clients was refused.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// There is none of that id in the caller's tenant.
    #[error("no such {}", .0.as_str())]
    NotFound(CredentialKind),
    /// There is one, but it is revoked or has expired.
    #[error("the {} is revoked or has expired", .0.as_str())]
    Ended(CredentialKind),
    /// It may do, or would, what the caller may not: these scopes.
    #[error("the caller lacks the scopes {0:?}")]
    Exceeds(Scopes),
    /// What was sent is not valid.
    #[error("the credential is not valid")]
    Invalid(Vec<Fault>),
    /// The cursor belongs to another listing.
    #[error("not a cursor of this listing")]
    InvalidCursor,
    /// The idempotency key was used by the same command, whose answer showed a secret and is
    /// therefore not given again.
    #[error("the idempotency key was used for {id} before")]
    UsedFor {
        /// What was made or rotated then.
        id: CredentialId,
    },
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyRefused),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl Refusal for CredentialError {
    fn is_of_store(&self) -> bool {
        matches!(self, Self::Store(_))
    }
}
