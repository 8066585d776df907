//! Errors of signing keys.

use std::sync::Arc;

use ports::RepositoryError;

/// An error of signing keys.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The private half of the newest key cannot be read.
    #[error("the signing key {kid} cannot be read")]
    Unreadable {
        /// The id of the key.
        kid: String,
        /// The reason.
        #[source]
        obstacle: KeyObstacle,
    },
    /// No usable key exists.
    #[error("no signing key exists")]
    Missing,
    /// Other processes rotated the keys during every attempt.
    #[error("other processes rotated the signing keys at the same time")]
    Contended,
    /// The cryptographic library failed.
    #[error("a signing key cannot be generated")]
    Cryptography,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// The reason why the private half of a signing key cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyObstacle {
    /// The key is encrypted, and no encryption key is configured.
    #[error("it is encrypted, and AUTH__ENCRYPTION_KEY is not set")]
    NoEncryptionKey,
    /// The configured encryption key does not decrypt it.
    #[error("it is encrypted with another key than AUTH__ENCRYPTION_KEY")]
    OtherEncryptionKey,
    /// The stored bytes are not a private key, or belong to another public half.
    #[error("the stored bytes are not its private key")]
    Damaged,
}

/// A copy of a stored error, for another caller.
pub(super) fn copy_error(failure: &Arc<RepositoryError>) -> RepositoryError {
    let cause = Arc::clone(failure);
    match &**failure {
        RepositoryError::Corrupt { what, .. } => RepositoryError::Corrupt {
            what: what.clone(),
            source: Box::new(cause),
        },
        RepositoryError::Conflict { .. }
        | RepositoryError::Stale { .. }
        | RepositoryError::Unavailable(_) => RepositoryError::Unavailable(Box::new(cause)),
    }
}
