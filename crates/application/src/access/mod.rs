//! Who is let in, and the keys they come with.

mod authenticator;
mod bootstrap;
mod credentials;
mod entrant;
mod entrant_watch;
pub mod jwt;
mod last_used;
mod limits;
mod looks;
mod memory;
mod presented_credential;
pub mod server;
mod standing;
mod tickets;
pub mod tokens;

pub use authenticator::Authenticator;
pub use bootstrap::Bootstrap;
pub use credentials::{CredentialError, CredentialService, MintedCredential, Rotation, operator};
pub use entrant::{AccessError, Entrant};
pub use entrant_watch::{EntrantWatch, Over};
pub use last_used::LastUsed;
pub use limits::{Count, Limits, TooManyLogBytes, TooManyStreams};
pub use presented_credential::PresentedCredential;
pub use standing::StandingNow;
pub use tickets::{IssuedTicket, TicketError, Tickets};
