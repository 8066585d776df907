//! The differences between keys and OAuth clients.

use access::IssuedCredential;
use domain::{Credential, CredentialKind};
use kit::problem::ApiError;
use serde::Serialize;

/// A kind of credential, as the API represents it.
pub trait View: Serialize + Sized + 'static {
    /// The kind.
    const KIND: CredentialKind;
    /// The path of the collection.
    const PATH: &'static str;
    /// The representation of a credential that was just created or rotated.
    type WithSecret: Serialize;

    /// Converts a stored credential into its representation without the secret.
    fn from_stored(credential: Credential) -> Result<Self, ApiError>;

    /// Converts a credential that was just created or rotated into its representation with the
    /// secret.
    fn from_issued(issued: IssuedCredential) -> Result<Self::WithSecret, ApiError>;
}
