//! What can go wrong with signing keys.

use ports::RepositoryError;

/// What can go wrong with signing keys.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The private half of the key that is to sign cannot be read.
    #[error("the signing key {kid} cannot be read")]
    Unreadable {
        /// Which.
        kid: String,
        /// Why not.
        #[source]
        obstacle: KeyObstacle,
    },
    /// No key has been made yet.
    #[error("there is no signing key")]
    Missing,
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

/// Why the private half of a signing key cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyObstacle {
    /// The operator has given no key for it.
    #[error("it is stored encrypted, and AUTH__ENCRYPTION_KEY is not set")]
    NoEncryptionKey,
    /// It does not open with the operator's key.
    #[error("AUTH__ENCRYPTION_KEY is not the one with which it was encrypted")]
    OtherEncryptionKey,
    /// It is no private key, or that of another public half.
    #[error("what is stored is not its private key")]
    Damaged,
}
