//! The trailer of a body that a far region sends to its home region while it arrives.
//!
//! The digest of such a body is not known when its head is signed, so it follows the body: the last bytes
//! are the SHA-256 of everything before them, signed with the key of the region for this head alone. They
//! belong to the body, because proxies drop the trailers of HTTP.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::RegionKey;

/// The length of a trailer in bytes.
pub const TRAILER_BYTES: usize = 32;

/// The digest of a body that is being sent or received.
#[derive(Debug, Clone, Default)]
pub struct StreamedDigest(Sha256);

impl StreamedDigest {
    /// Adds the next bytes of the body.
    pub fn push(&mut self, chunk: &[u8]) {
        self.0.update(chunk);
    }

    /// Returns the trailer of the body, whose signed head is `head`.
    pub fn trailer(self, head: &str, key: &RegionKey) -> [u8; TRAILER_BYTES] {
        signature(&self.0.finalize(), head, key)
            .finalize()
            .into_bytes()
            .into()
    }

    /// Returns true if the body with this head has this trailer, by one of `keys`.
    pub fn has_trailer(self, head: &str, keys: &[RegionKey], trailer: &[u8]) -> bool {
        let digest = self.0.finalize();
        let is_by = |key| signature(&digest, head, key).verify_slice(trailer).is_ok();
        keys.iter().any(is_by)
    }
}

fn signature(digest: &[u8], head: &str, key: &RegionKey) -> Hmac<Sha256> {
    let hmac = Hmac::<Sha256>::new_from_slice(key.bytes());
    let mut hmac = hmac.expect("HMAC takes keys of any length");
    // The signed text of a head begins with a method, so no trailer can be taken for a head.
    for part in [&b"\0trailer\n"[..], head.as_bytes(), b"\n", digest] {
        hmac.update(part);
    }
    hmac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(letter: &str) -> RegionKey {
        RegionKey::parse(&letter.repeat(40)).unwrap()
    }

    fn digest(chunks: &[&[u8]]) -> StreamedDigest {
        let mut digest = StreamedDigest::default();
        for chunk in chunks {
            digest.push(chunk);
        }
        digest
    }

    #[test]
    fn a_trailer_belongs_to_one_body_and_one_head() {
        let keys = [key("a"), key("b")];
        let trailer = digest(&[b"bo", b"dy"]).trailer("head", &key("b"));
        let is_valid =
            |body: &[u8], head, trailer: &[u8]| digest(&[body]).has_trailer(head, &keys, trailer);
        assert!(is_valid(b"body", "head", &trailer));
        assert!(!is_valid(b"bod", "head", &trailer));
        assert!(!is_valid(b"body", "other", &trailer));
        assert!(!is_valid(b"body", "head", &trailer[1..]));
        assert!(!is_valid(b"body", "head", b""));
        let other = digest(&[b"body"]).trailer("head", &key("c"));
        assert!(!is_valid(b"body", "head", &other));
    }
}
