//! What can go wrong with signing keys.

use ports::RepositoryError;

/// What can go wrong with signing keys.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The key that is to sign is encrypted with another key than the operator's present one, or
    /// damaged.
    #[error("the signing key {kid} cannot be read")]
    Unreadable {
        /// Which.
        kid: String,
    },
    /// Others rotate all the time.
    #[error("other processes rotate the signing keys at the same time")]
    Contended,
    /// The cryptographic library failed.
    #[error("a signing key cannot be made")]
    Cryptography,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}
