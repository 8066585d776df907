//! JSON Web Tokens: what one claims to be, and whether a key signed it.

mod algorithm;
mod claims;
mod strict_json;
mod token;
mod verifying_key;

pub use algorithm::{SignatureAlgorithm, UnknownAlgorithm};
pub use claims::{Claims, LEEWAY};
pub use token::UnverifiedToken;
pub use verifying_key::VerifyingKey;
