//! What is particular to keys, and to clients.

use application::access::MintedCredential;
use domain::{Credential, CredentialKind};
use serde::Serialize;

use crate::problem::ApiError;

/// A kind of credential as callers see it.
pub trait View: Serialize + Sized + 'static {
    /// What it is here.
    const KIND: CredentialKind;
    /// Where all of them are.
    const PATH: &'static str;
    /// One that was just made or rotated.
    type WithSecret: Serialize;

    /// One as it is stored, without its secret.
    fn stored(credential: Credential) -> Result<Self, ApiError>;

    /// One that was just made or rotated, with its secret.
    fn minted(minted: MintedCredential) -> Result<Self::WithSecret, ApiError>;
}
