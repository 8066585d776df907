//! Errors of the authorization server.

use std::time::Duration;

use ports::RepositoryError;

use crate::{signing_keys::SigningKeyError, tokens::KeysUnavailable};

/// An error of the authorization server. Clients receive the text, so it contains only ASCII
/// without quotes and backslashes (RFC 6749, 5.2).
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// A parameter is missing, is malformed, or conflicts with another parameter.
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The client is unknown, revoked or expired, or its credentials are wrong. The error does not
    /// reveal which.
    #[error("the client could not be authenticated")]
    InvalidClient,
    /// The server that publishes the client's keys does not respond, so the assertion cannot be
    /// verified.
    #[error("the keys that the client publishes are unavailable")]
    KeysUnavailable(#[from] KeysUnavailable),
    /// The client has sent more requests than its rate limit allows.
    #[error("too many requests of this client, try later")]
    RateLimited {
        /// The time until the client may send the next request.
        wait: Duration,
    },
    /// The token was issued to another client.
    #[error("the token was issued to another client")]
    InvalidGrant,
    /// The requested grant is not `client_credentials`.
    #[error("the only grant_type is client_credentials")]
    UnsupportedGrantType,
    /// A scope is unknown, or the client does not hold it.
    #[error("{0}")]
    InvalidScope(String),
    /// The requested token is for another service.
    #[error("the only resource is the public URL of this service")]
    InvalidTarget,
    /// The service cannot sign a token.
    #[error("no token can be signed")]
    SigningKeys(#[from] SigningKeyError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}
