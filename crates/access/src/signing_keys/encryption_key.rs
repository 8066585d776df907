//! The operator's key, which encrypts the stored private halves of signing keys.

use std::{fmt, sync::Arc};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

const LENGTH: usize = 32;

/// The operator's key for AES-256-GCM (`AUTH__ENCRYPTION_KEY`). Cheap to clone; `Debug` hides it.
#[derive(Clone)]
pub struct EncryptionKey(Arc<LessSafeKey>);

impl EncryptionKey {
    /// Parses 32 bytes in base64 or base64url, with or without the `=` at the end.
    pub fn parse(text: &str) -> Option<Self> {
        let url_safe = text
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_");
        let bytes = URL_SAFE_NO_PAD.decode(url_safe).ok()?;
        if bytes.len() != LENGTH {
            return None;
        }
        let key = UnboundKey::new(&AES_256_GCM, &bytes).ok()?;
        Some(Self(Arc::new(LessSafeKey::new(key))))
    }

    /// Encrypts `plain` for the row with this name and returns nonce, ciphertext and tag.
    /// Decryption with another name fails.
    pub(super) fn seal(&self, name: &str, nonce: [u8; NONCE_LEN], plain: &[u8]) -> Option<Vec<u8>> {
        let mut sealed = plain.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        let seal = self
            .0
            .seal_in_place_append_tag(unique, Aad::from(name), &mut sealed);
        seal.ok()?;
        sealed.splice(0..0, nonce);
        Some(sealed)
    }

    /// Decrypts the output of `seal` for the row with this name. Returns `None` if key, name or
    /// bytes differ.
    pub(super) fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut plain = ciphertext.to_vec();
        let length = self
            .0
            .open_in_place(nonce, Aad::from(name), &mut plain)
            .ok()?
            .len();
        plain.truncate(length);
        Some(plain)
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EncryptionKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; NONCE_LEN] = [3; NONCE_LEN];

    fn key(byte: u8) -> EncryptionKey {
        EncryptionKey::parse(&URL_SAFE_NO_PAD.encode([byte; LENGTH])).unwrap()
    }

    #[test]
    fn only_the_same_key_and_name_decrypt() {
        let sealed = key(1).seal("a", NONCE, b"private").unwrap();
        assert_eq!(sealed.len(), NONCE_LEN + b"private".len() + 16);
        assert_eq!(key(1).open("a", &sealed).as_deref(), Some(&b"private"[..]));
        assert_eq!(key(2).open("a", &sealed), None);
        assert_eq!(key(1).open("b", &sealed), None);
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(key(1).open("a", &damaged), None, "byte {at}");
        }
        for length in 0..sealed.len() {
            assert_eq!(key(1).open("a", &sealed[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn every_variant_of_base64_is_accepted() {
        let bytes = [0xfb; LENGTH];
        let sealed = key(0xfb).seal("a", NONCE, b"private").unwrap();
        let url_safe = URL_SAFE_NO_PAD.encode(bytes);
        let standard = url_safe.replace('-', "+").replace('_', "/");
        for text in [
            url_safe.clone(),
            format!("{url_safe}="),
            standard.clone(),
            format!("{standard}="),
        ] {
            let read = EncryptionKey::parse(&text).unwrap();
            assert!(read.open("a", &sealed).is_some(), "{text}");
        }
    }

    #[test]
    fn a_key_of_another_length_than_32_bytes_is_rejected() {
        for text in [
            "",
            "secret",
            &URL_SAFE_NO_PAD.encode([1; 31]),
            &URL_SAFE_NO_PAD.encode([1; 33]),
            &"z".repeat(64),
            &format!("{}\u{1}", URL_SAFE_NO_PAD.encode([1; LENGTH])),
        ] {
            assert!(EncryptionKey::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn debug_hides_it() {
        assert_eq!(format!("{:?}", key(1)), "EncryptionKey(…)");
    }
}
