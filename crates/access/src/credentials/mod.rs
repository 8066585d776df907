//! Keys and clients: create, list, rotate, revoke.

mod error;
mod minting;
mod privilege;
mod rotation;
mod service;
mod told;

pub use error::CredentialError;
pub(super) use minting::{minted, with_secret};
pub use privilege::operator;
pub use rotation::Rotation;
pub use service::{CredentialService, MintedCredential};
