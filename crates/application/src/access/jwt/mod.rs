//! JSON Web Tokens: what one claims to be, and whether a key signed it.

mod algorithm;
mod claims;
mod provider;
mod public_keys;
mod strict_json;
mod token;
mod verifying_key;

pub use algorithm::{SignatureAlgorithm, UnknownAlgorithm};
pub use claims::{Claims, LEEWAY};
pub use provider::install_provider;
pub use public_keys::{Proof, PublicKeys};
pub use token::UnverifiedToken;
pub use verifying_key::VerifyingKey;
