//! Access tokens, and the keys that prove them.

mod discovery;
mod key_set;

pub use discovery::KeyLocation;
pub use key_set::{KeySet, KeySets, KeysUnavailable};
