//! Who is let in, and the keys they come with.

mod authenticator;
mod bootstrap;
mod keys;
mod last_used;

pub use authenticator::{AccessError, Authenticator, Entrant};
pub use bootstrap::Bootstrap;
pub use keys::{KeyError, KeyService, MintedKey, NewKey};
pub use last_used::LastUsed;
