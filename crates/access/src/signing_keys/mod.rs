//! The keys that sign the access tokens of this service.

mod encryption_key;
mod error;
mod key_pair;
mod key_ring;
mod previous_keys;
mod service;

pub use encryption_key::EncryptionKey;
pub use error::{KeyObstacle, SigningKeyError};
pub use previous_keys::{PreviousKeys, dropped_at};
pub use service::SigningKeys;
