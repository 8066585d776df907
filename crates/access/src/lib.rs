//! Authentication: credentials, tokens, tickets, and the OAuth authorization server.
//!
//! [`Authenticator`] verifies API keys and access tokens. [`CredentialService`] manages keys and
//! clients, [`oauth_server`] issues tokens to clients, [`UserTokens`] issues tokens to users, and
//! [`Tickets`] replace credentials where a client cannot send one.

mod auth_cache;
mod auth_context;
mod authenticator;
mod credential_status;
mod credential_watch;
mod credentials;
mod first_key;
mod home_authority;
pub mod jwt;
mod last_use_recorder;
pub mod oauth_server;
mod presented_credential;
pub mod signing_keys;
mod status_cache;
mod tickets;
pub mod tokens;
mod tool_tokens;
pub mod user_tokens;

pub use auth_context::{AccessError, AuthContext};
pub use authenticator::Authenticator;
pub use credential_status::CredentialStatus;
pub use credential_watch::{CredentialEnd, CredentialWatch};
pub use credentials::{CredentialError, CredentialService, IssuedCredential, Rotation, operator};
pub use first_key::FirstKey;
pub use home_authority::{AccessAnswer, AccessQuestion, HomeAuthority};
pub use last_use_recorder::LastUseRecorder;
pub use presented_credential::PresentedCredential;
pub use tickets::{IssuedTicket, TicketError, Tickets};
pub use tool_tokens::ToolTokenIssuer;
pub use user_tokens::{UserTokenError, UserTokenRequest, UserTokens};
