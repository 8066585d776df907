//! Who is let in, and the keys they come with.

mod authenticator;
mod bootstrap;
mod credentials;
mod entrant;
pub mod jwt;
mod last_used;
mod limits;
mod memory;
mod presented_credential;
pub mod server;
pub mod tokens;

pub use authenticator::Authenticator;
pub use bootstrap::Bootstrap;
pub use credentials::{CredentialError, CredentialService, MintedCredential, Rotation, operator};
pub use entrant::{AccessError, Entrant};
pub use last_used::LastUsed;
pub use limits::{Count, Limits};
pub use presented_credential::PresentedCredential;
