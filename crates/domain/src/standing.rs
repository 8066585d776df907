//! What lets a principal in beyond the moment at which it came.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{CredentialId, SecretDigest};

/// What lets a principal in beyond the moment at which it came: what is looked at again while a
/// socket or stream of its is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Standing {
    /// An API key, and the very secret of it.
    Key {
        /// The key.
        id: CredentialId,
        /// Of the secret.
        digest: SecretDigest,
    },
    /// An access token of this service.
    OwnToken {
        /// Its `jti`.
        id: Uuid,
        /// The client that it was issued to.
        client: CredentialId,
        /// The key that signed it.
        signing_key: String,
    },
    /// An access token of a foreign issuer, which nobody here can take back: it holds until it
    /// ends.
    ForeignToken,
}
