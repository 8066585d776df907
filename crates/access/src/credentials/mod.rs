//! Keys and clients: create, list, change, rotate, revoke.

mod change;
mod error;
mod privilege;
mod replay;
mod rotation;
mod secrets;
mod service;

pub use error::CredentialError;
pub use privilege::operator;
pub use rotation::Rotation;
pub(super) use secrets::{generate_secret, stored_secret};
pub use service::{CredentialService, IssuedCredential};
