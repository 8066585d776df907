//! The OAuth authorization server, which issues access tokens to clients.

mod authorization_server;
mod client_assertions;
mod client_authenticator;
mod error;

pub use authorization_server::{AuthorizationServer, CLIENT_CREDENTIALS, TokenRequest};
pub use client_assertions::ClientAssertions;
pub use client_authenticator::{ClientAuthenticator, ClientCredentials};
pub use error::OAuthError;
