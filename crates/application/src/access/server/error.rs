//! Why a request to the authorization server was refused.

use std::time::Duration;

use ports::RepositoryError;

use super::SigningKeyError;
use crate::access::tokens::KeysUnavailable;

/// Why a request to the authorization server was refused, in the sentences that clients read: no
/// quotes, no backslashes, ASCII alone (RFC 6749, 5.2).
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// A parameter is missing, malformed, or does not go with another.
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The client is unknown, revoked or expired, or did not prove that it is what it says; which
    /// of them is not told.
    #[error("the client could not be authenticated")]
    InvalidClient,
    /// Where the client publishes its keys nobody answers, so that nothing can be said about what
    /// it shows.
    #[error("the keys that the client publishes cannot be had at the moment")]
    KeysUnavailable(#[from] KeysUnavailable),
    /// The client has asked more often than it may.
    #[error("too many requests of this client, try later")]
    RateLimited {
        /// After so long it may ask again.
        wait: Duration,
    },
    /// The token was issued to another client.
    #[error("the token was issued to another client")]
    InvalidGrant,
    /// There is only one grant for machines.
    #[error("the only grant_type is client_credentials")]
    UnsupportedGrantType,
    /// A scope is unknown, or the client does not hold it.
    #[error("a scope is unknown, or the client does not hold it")]
    InvalidScope,
    /// The token would be for another service.
    #[error("the only resource is the public URL of this service")]
    InvalidTarget,
    /// No token can be signed.
    #[error("no token can be signed")]
    SigningKeys(#[from] SigningKeyError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}
