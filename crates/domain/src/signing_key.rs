//! The keys with which this service signs its access tokens.

use serde_json::Value;

use crate::Timestamp;

/// A key pair for ES256 signatures, as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// The key's id in token headers and in the published set: the RFC 7638 thumbprint.
    pub kid: String,
    /// The private key: PKCS #8, sealed when `is_sealed`.
    pub private_key: Vec<u8>,
    /// `true` if the private key is encrypted with the operator's key.
    pub is_sealed: bool,
    /// The public half, as a JWK.
    pub public_key: Value,
    /// The time of creation; the newest key signs.
    pub created_at: Timestamp,
    /// The time until which its signatures are valid; `None` while it is the newest key.
    pub valid_until: Option<Timestamp>,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SigningKey({})", self.kid)
    }
}
