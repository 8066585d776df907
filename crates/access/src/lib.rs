//! Authentication: credentials, tokens, tickets, and the OAuth authorization server.
//!
//! [`Authenticator`] verifies API keys and access tokens. [`CredentialService`] manages keys and
//! clients, [`server`] issues tokens to clients, and [`Tickets`] replace credentials where a
//! client cannot send one.

mod auth_cache;
mod auth_context;
mod authenticator;
mod bootstrap;
mod credential_status;
mod credential_watch;
mod credentials;
pub mod jwt;
mod last_used;
mod presented_credential;
pub mod server;
mod status_checks;
mod tickets;
pub mod tokens;

pub use auth_context::{AccessError, AuthContext};
pub use authenticator::Authenticator;
pub use bootstrap::Bootstrap;
pub use credential_status::CredentialStatus;
pub use credential_watch::{CredentialWatch, Over};
pub use credentials::{CredentialError, CredentialService, MintedCredential, Rotation, operator};
pub use last_used::LastUsed;
pub use presented_credential::PresentedCredential;
pub use tickets::{IssuedTicket, TicketError, Tickets};
