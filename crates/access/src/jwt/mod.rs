//! JSON Web Tokens: parsing, and verification of signatures.

mod algorithm;
mod claims;
mod provider;
mod token;
mod verifying_key;
mod verifying_keys;

pub use algorithm::{SignatureAlgorithm, UnknownAlgorithm};
pub(crate) use claims::texts;
pub use claims::{Claims, LEEWAY};
pub use provider::install_provider;
pub use token::{ACCESS_TOKEN, TOOL_TOKEN, UnverifiedToken};
pub(crate) use token::{AGENT_IDS, MAX_TOKEN_BYTES};
pub use verifying_key::VerifyingKey;
pub use verifying_keys::{KeyBounds, SignatureCheck, VerifyingKeys};
