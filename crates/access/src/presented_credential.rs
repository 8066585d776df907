//! A credential as received.

use sha2::{Digest, Sha256};

/// The SHA-256 of a credential's whole text: its key in the cache.
pub(crate) type Fingerprint = [u8; 32];

/// A credential as received, not yet verified. Its fingerprint is computed once per request.
pub struct PresentedCredential<'a> {
    pub(crate) text: &'a str,
    pub(crate) fingerprint: Fingerprint,
}

impl<'a> PresentedCredential<'a> {
    /// Computes the fingerprint of a received credential.
    pub fn new(text: &'a str) -> Self {
        let fingerprint = Sha256::digest(text.as_bytes()).into();
        Self { text, fingerprint }
    }
}
