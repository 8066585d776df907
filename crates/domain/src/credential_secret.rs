//! The secrets that this service mints: `<prefix><12 base62 id>_<43 base62 secret><6 base62
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
const LENGTH: usize = PREFIX_LENGTH + ID_DIGITS + 1 + SECRET_DIGITS + CHECKSUM_DIGITS;

/// Random bytes that [`CredentialSecret::mint`] needs: nine for the id, 32 for the secret.
pub const RANDOM_BYTES: usize = 9 + 32;

/// The text is no secret of this kind: wrong form, or a checksum that shows a typing mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a credential of this service")]
pub struct MalformedSecret;

/// A whole key or client secret. Never stored, never logged: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct CredentialSecret {
    text: String,
}

impl CredentialSecret {
    /// Makes an id and a secret from random bytes.
    pub fn mint(kind: CredentialKind, random: &[u8; RANDOM_BYTES]) -> Self {
        let id = base62::encode(&random[..9], ID_DIGITS);
        Self::assemble(kind, &id, &random[9..])
    }

    /// A new secret under an id that exists already: what rotation hands out.
    pub fn mint_for(kind: CredentialKind, id: &CredentialId, random: &[u8; 32]) -> Self {
        Self::assemble(kind, id.as_str(), random)
    }

    fn assemble(kind: CredentialKind, id: &str, random: &[u8]) -> Self {
        let secret = base62::encode(random, SECRET_DIGITS);
        let mut text = format!("{}{id}_{secret}", kind.prefix());
        text.push_str(&checksum(&text));
        Self { text }
    }

    /// Reads a secret and checks its form and checksum, without asking anybody.
    pub fn parse(kind: CredentialKind, text: &str) -> Result<Self, MalformedSecret> {
        let well_formed = text.len() == LENGTH
            && text.starts_with(kind.prefix())
            && text.as_bytes()[PREFIX_LENGTH + ID_DIGITS] == b'_'
            && text.bytes().filter(|byte| *byte == b'_').count() == 2
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !well_formed {
            return Err(MalformedSecret);
        }
        let (body, sum) = text.split_at(LENGTH - CHECKSUM_DIGITS);
        if checksum(body) != sum {
            return Err(MalformedSecret);
        }
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// The public id inside.
    pub fn id(&self) -> CredentialId {
        CredentialId::of_digits(&self.text[PREFIX_LENGTH..PREFIX_LENGTH + ID_DIGITS])
    }

    /// What is stored in place of the secret.
    pub fn digest(&self) -> SecretDigest {
        let start = PREFIX_LENGTH + ID_DIGITS + 1;
        SecretDigest(Sha256::digest(&self.text.as_bytes()[start..start + SECRET_DIGITS]).into())
    }

    /// The last four characters of the whole value, by which people recognise it.
    pub fn last4(&self) -> &str {
        &self.text[LENGTH - 4..]
    }

    /// The whole value, for the one moment in which it is shown.
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

/// SHA-256 of a secret. High entropy needs no slow hash, and a slow one per request would be a
/// denial of service of our own making.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// From the stored bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes as stored.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Compares in constant time.
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
        fn every_minted_secret_is_read_back_as_its_own_kind_alone(
            head in any::<[u8; 32]>(), tail in any::<[u8; 9]>(),
        ) {
            let mut random = [0; RANDOM_BYTES];
            random[..32].copy_from_slice(&head);
            random[32..].copy_from_slice(&tail);
            for (kind, other) in [(Key, Client), (Client, Key)] {
                let secret = CredentialSecret::mint(kind, &random);
                prop_assert_eq!(CredentialSecret::parse(kind, secret.reveal()), Ok(secret.clone()));
                prop_assert!(CredentialSecret::parse(other, secret.reveal()).is_err());
                prop_assert_eq!(secret.reveal().len(), LENGTH);
            }
        }

        #[test]
        fn one_wrong_character_is_noticed_offline(at in 4..LENGTH, with in "[0-9A-Za-z]") {
            let key = CredentialSecret::mint(Key, &[7; RANDOM_BYTES]);
            let mut text = key.reveal().to_owned();
            text.replace_range(at..=at, &with);
            prop_assert_eq!(CredentialSecret::parse(Key, &text).is_ok(), text == key.reveal());
        }

        #[test]
        fn never_panics_on_anything(text in "\\PC*") {
            let _ = CredentialSecret::parse(Key, &text);
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        let key = CredentialSecret::mint(Key, &[7; RANDOM_BYTES]);
        assert!(!format!("{key:?}").contains(&key.reveal()[20..]));
    }
}
