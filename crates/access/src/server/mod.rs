//! The authorization server: issues access tokens to OAuth clients, signed by its own keys.

mod assertion;
mod authorization_server;
mod client_authentication;
mod encryption_key;
mod error;
mod key_pair;
mod key_ring;
mod own_tokens;
mod previous_keys;
mod signing_key_error;
mod signing_keys;

pub use assertion::Assertions;
pub use authorization_server::{AuthorizationServer, CLIENT_CREDENTIALS, TokenRequest};
pub use client_authentication::{ClientAuthentication, ClientCredentials};
pub use encryption_key::EncryptionKey;
pub use error::OAuthError;
pub use own_tokens::{IssuedToken, OwnToken, OwnTokens, seconds};
pub use previous_keys::{PreviousKeys, dropped_at};
pub use signing_key_error::{KeyObstacle, SigningKeyError};
pub use signing_keys::SigningKeys;
