//! The secrets that this service generates: `<prefix><12 base62 id>_<43 base62 secret><6 base62
//! checksum>`, with the prefix `agk_` for API keys and `ags_` for secrets of OAuth clients.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{
    CredentialId, CredentialKind, base62,
    credential::{ID_DIGITS, PREFIX_LENGTH},
};

const SECRET_DIGITS: usize = 43;
const CHECKSUM_DIGITS: usize = 6;
const SECRET_LENGTH: usize = PREFIX_LENGTH + ID_DIGITS + 1 + SECRET_DIGITS + CHECKSUM_DIGITS;

/// The number of random bytes that [`CredentialSecret::mint`] needs: 9 for the id, 32 for the
/// secret.
pub const RANDOM_BYTES: usize = 9 + 32;

/// The error for a text that is not a secret of this kind: wrong form, or a wrong checksum, which
/// reveals a typing mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a credential of this service")]
pub struct MalformedSecret;

/// A whole API key or client secret. Never stored, never logged; `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialSecret {
    text: String,
}

impl CredentialSecret {
    /// Creates an id and a secret from random bytes.
    pub fn mint(kind: CredentialKind, random: &[u8; RANDOM_BYTES]) -> Self {
        let id = base62::encode(&random[..9], ID_DIGITS);
        Self::assemble(kind, &id, &random[9..])
    }

    /// Creates a new secret for an existing id, for a rotation.
    pub fn mint_for(kind: CredentialKind, id: &CredentialId, random: &[u8; 32]) -> Self {
        Self::assemble(kind, id.as_str(), random)
    }

    fn assemble(kind: CredentialKind, id: &str, random: &[u8]) -> Self {
        let secret = base62::encode(random, SECRET_DIGITS);
        let mut text = format!("{}{id}_{secret}", kind.prefix());
        text.push_str(&checksum(&text));
        Self { text }
    }

    /// Parses a secret and checks its form and checksum, without a look-up in the store.
    pub fn parse(kind: CredentialKind, text: &str) -> Result<Self, MalformedSecret> {
        let well_formed = text.len() == SECRET_LENGTH
            && text.starts_with(kind.prefix())
            && text.as_bytes()[PREFIX_LENGTH + ID_DIGITS] == b'_'
            && text.bytes().filter(|byte| *byte == b'_').count() == 2
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !well_formed {
            return Err(MalformedSecret);
        }
        let (body, sum) = text.split_at(SECRET_LENGTH - CHECKSUM_DIGITS);
        if checksum(body) != sum {
            return Err(MalformedSecret);
        }
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// Returns the public id in the secret.
    pub fn id(&self) -> CredentialId {
        CredentialId::from_digits(&self.text[PREFIX_LENGTH..PREFIX_LENGTH + ID_DIGITS])
    }

    /// Returns the digest that is stored in place of the secret.
    pub fn digest(&self) -> SecretDigest {
        let start = PREFIX_LENGTH + ID_DIGITS + 1;
        SecretDigest(Sha256::digest(&self.text.as_bytes()[start..start + SECRET_DIGITS]).into())
    }

    /// Returns the last four characters, by which people recognise the secret.
    pub fn last4(&self) -> &str {
        &self.text[SECRET_LENGTH - 4..]
    }

    /// Returns the whole secret, for the one response that contains it.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for CredentialSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CredentialSecret({}…)", self.id())
    }
}

fn checksum(body: &str) -> String {
    base62::encode(
        &crc32fast::hash(body.as_bytes()).to_be_bytes(),
        CHECKSUM_DIGITS,
    )
}

/// The SHA-256 digest of a secret. The secret has high entropy, so it needs no slow hash. A slow
/// hash on every request would make denial of service easy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// Wraps the stored bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Compares two digests in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretDigest(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use CredentialKind::{Client, Key};

    proptest! {
        #[test]
        fn a_minted_secret_parses_only_as_its_own_kind(
            head in any::<[u8; 32]>(), tail in any::<[u8; 9]>(),
        ) {
            let mut random = [0; RANDOM_BYTES];
            random[..32].copy_from_slice(&head);
            random[32..].copy_from_slice(&tail);
            for (kind, other) in [(Key, Client), (Client, Key)] {
                let secret = CredentialSecret::mint(kind, &random);
                prop_assert_eq!(CredentialSecret::parse(kind, secret.reveal()), Ok(secret.clone()));
                prop_assert!(CredentialSecret::parse(other, secret.reveal()).is_err());
                prop_assert_eq!(secret.reveal().len(), SECRET_LENGTH);
            }
        }

        #[test]
        fn one_wrong_character_is_detected_by_the_checksum(at in 4..SECRET_LENGTH, with in "[0-9A-Za-z]") {
            let key = CredentialSecret::mint(Key, &[7; RANDOM_BYTES]);
            let mut text = key.reveal().to_owned();
            text.replace_range(at..=at, &with);
            prop_assert_eq!(CredentialSecret::parse(Key, &text).is_ok(), text == key.reveal());
        }

        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = CredentialSecret::parse(Key, &text);
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        let key = CredentialSecret::mint(Key, &[7; RANDOM_BYTES]);
        assert!(!format!("{key:?}").contains(&key.reveal()[20..]));
    }
}
