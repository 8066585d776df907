//! Who is let in, and the keys they come with.

mod authenticator;
mod bootstrap;
mod credentials;
mod entrant;
pub mod jwt;
mod last_used;
mod limits;

pub use authenticator::Authenticator;
pub use bootstrap::Bootstrap;
pub use credentials::{KeyError, KeyService, MintedKey, NewKey};
pub use entrant::{AccessError, Entrant};
pub use last_used::LastUsed;
pub use limits::{Count, Limits};
