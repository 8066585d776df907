//! The credential behind an open connection.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{CredentialId, CredentialKind, SecretDigest};

/// The credential by which a principal was authenticated. It is checked again while a socket or
/// stream of the principal is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CredentialSource {
    /// An API key with one of its secrets.
    Key {
        /// The id of the key.
        id: CredentialId,
        /// The digest of the secret.
        digest: SecretDigest,
    },
    /// An access token of this service.
    OwnToken {
        /// The token's `jti`.
        id: Uuid,
        /// The client that the token was issued to.
        client: CredentialId,
        /// The id of the key that signed the token.
        signing_key: String,
    },
    /// An access token of this service for a user.
    UserToken {
        /// The token's `jti`.
        id: Uuid,
        /// The kind of the credential that issued the token.
        issuer_kind: CredentialKind,
        /// The id of the credential that issued the token.
        issuer: CredentialId,
        /// The id of the key that signed the token.
        signing_key: String,
        /// The generation of the user's tokens to which it belongs.
        generation: i64,
    },
    /// An access token of an external issuer. This service cannot revoke it; it is valid until it
    /// expires.
    // The stored name is older than the variant's.
    #[serde(rename = "foreignToken")]
    ExternalToken,
}
