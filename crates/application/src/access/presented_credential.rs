//! A credential as it was sent.

use sha2::{Digest, Sha256};

/// SHA-256 of a credential's whole text: what it is remembered by.
pub(super) type Fingerprint = [u8; 32];

/// A credential as it was sent, of which nothing is known yet, with its fingerprint: that is
/// reckoned once for a request.
pub struct PresentedCredential<'a> {
    pub(super) text: &'a str,
    pub(super) fingerprint: Fingerprint,
}

impl<'a> PresentedCredential<'a> {
    /// The credential of this text.
    pub fn new(text: &'a str) -> Self {
        let fingerprint = Sha256::digest(text.as_bytes()).into();
        Self { text, fingerprint }
    }
}
