//! API keys: `agk_<12 base62 id>_<43 base62 secret><6 base62 checksum>`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::{PrincipalId, Scopes, TenantId, Timestamp, base62};

const PREFIX: &str = "agk_";
const ID_DIGITS: usize = 12;
const SECRET_DIGITS: usize = 43;
const CHECKSUM_DIGITS: usize = 6;
const LENGTH: usize = PREFIX.len() + ID_DIGITS + 1 + SECRET_DIGITS + CHECKSUM_DIGITS;

/// Random bytes that [`ApiKeySecret::mint`] needs: nine for the id, 32 for the secret.
pub const RANDOM_BYTES: usize = 9 + 32;

/// The public part of a key: 12 base62 digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

/// The text is not an API key: wrong form, or a checksum that shows a typing mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an API key")]
pub struct MalformedKey;

impl KeyId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The principal that a request with this key is.
    pub fn principal(&self) -> PrincipalId {
        PrincipalId::new(format!("key:{}", self.0))
    }
}

impl FromStr for KeyId {
    type Err = MalformedKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != ID_DIGITS || !base62::is_base62(text) {
            return Err(MalformedKey);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A whole key with its secret. Never stored, never logged: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeySecret {
    text: String,
}

impl ApiKeySecret {
    /// Makes a key from random bytes.
    pub fn mint(random: &[u8; RANDOM_BYTES]) -> Self {
        let id = base62::encode(&random[..9], ID_DIGITS);
        let secret = base62::encode(&random[9..], SECRET_DIGITS);
        Self::assemble(&id, &secret)
    }

    /// A new secret under an id that exists already: what rotation hands out.
    pub fn mint_for(id: &KeyId, random: &[u8; 32]) -> Self {
        Self::assemble(id.as_str(), &base62::encode(random, SECRET_DIGITS))
    }

    fn assemble(id: &str, secret: &str) -> Self {
        let mut text = format!("{PREFIX}{id}_{secret}");
        text.push_str(&checksum(&text));
        Self { text }
    }

    /// Reads a key and checks its form and checksum, without asking anybody.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let well_formed = text.len() == LENGTH
            && text.starts_with(PREFIX)
            && text.as_bytes()[PREFIX.len() + ID_DIGITS] == b'_'
            && text.bytes().filter(|byte| *byte == b'_').count() == 2
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !well_formed {
            return Err(MalformedKey);
        }
        let (body, sum) = text.split_at(LENGTH - CHECKSUM_DIGITS);
        if checksum(body) != sum {
            return Err(MalformedKey);
        }
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// Whether a bearer token is meant as an API key, however mistyped the rest.
    pub fn looks_like_one(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// The public id inside.
    pub fn id(&self) -> KeyId {
        KeyId(self.text[PREFIX.len()..PREFIX.len() + ID_DIGITS].to_owned())
    }

    /// What is stored in place of the secret.
    pub fn digest(&self) -> SecretDigest {
        let start = PREFIX.len() + ID_DIGITS + 1;
        SecretDigest(Sha256::digest(&self.text.as_bytes()[start..start + SECRET_DIGITS]).into())
    }

    /// The last four characters of the whole value, by which people recognise a key.
    pub fn last4(&self) -> &str {
        &self.text[LENGTH - 4..]
    }

    /// The whole value, for the one moment in which it is shown.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiKeySecret({}…)", self.id())
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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

/// Rate limits of one key or client in place of the server's; absent members keep the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitOverrides {
    /// Requests a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 2_147_483_647))]
    pub requests_per_minute: Option<u32>,
    /// Requests at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 2_147_483_647))]
    pub requests_burst: Option<u32>,
    /// Chats a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 2_147_483_647))]
    pub chat_per_minute: Option<u32>,
    /// Chats at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 2_147_483_647))]
    pub chat_burst: Option<u32>,
    /// Open streams and sockets at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(maximum = 2_147_483_647))]
    pub streams: Option<u32>,
}

/// A key as it is stored: everything but the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its public id.
    pub id: KeyId,
    /// Whose data it opens.
    pub tenant: TenantId,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Digest of the current secret.
    pub digest: SecretDigest,
    /// Last four characters of the current whole value.
    pub last4: String,
    /// The secret before the last rotation, and until when it is still good.
    pub previous: Option<(SecretDigest, Timestamp)>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was last seen, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Since when it is refused.
    pub revoked_at: Option<Timestamp>,
    /// Browser origins that alone may use it; empty for any.
    pub allowed_origins: Vec<String>,
    /// Its own rate limits.
    pub limits: LimitOverrides,
}

impl ApiKey {
    /// Whether a request with a secret of this digest is let in at `now`, and until when the
    /// answer can hold at the most.
    pub fn verify(&self, digest: &SecretDigest, now: Timestamp) -> Option<Verified> {
        let alive = self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end);
        let current = self.digest.matches(digest);
        let previous = self
            .previous
            .filter(|(previous, until)| previous.matches(digest) && now < *until)
            .map(|(_, until)| until);
        if !alive || !(current || previous.is_some()) {
            return None;
        }
        let overlap_end = if current { None } else { previous };
        Some(Verified {
            until: self.expires_at.into_iter().chain(overlap_end).min(),
        })
    }
}

/// A secret that was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The end of the key or of its rotation's overlap, whichever comes first.
    pub until: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_minted_key_is_read_back(
            head in any::<[u8; 32]>(), tail in any::<[u8; 9]>(),
        ) {
            let mut random = [0; RANDOM_BYTES];
            random[..32].copy_from_slice(&head);
            random[32..].copy_from_slice(&tail);
            let key = ApiKeySecret::mint(&random);
            prop_assert_eq!(ApiKeySecret::parse(key.reveal()), Ok(key.clone()));
            prop_assert_eq!(key.reveal().len(), LENGTH);
        }

        #[test]
        fn one_wrong_character_is_noticed_offline(at in 4..LENGTH, with in "[0-9A-Za-z]") {
            let key = ApiKeySecret::mint(&[7; RANDOM_BYTES]);
            let mut text = key.reveal().to_owned();
            text.replace_range(at..=at, &with);
            prop_assert_eq!(ApiKeySecret::parse(&text).is_ok(), text == key.reveal());
        }

        #[test]
        fn never_panics_on_anything(text in "\\PC*") {
            let _ = ApiKeySecret::parse(&text);
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        let key = ApiKeySecret::mint(&[7; RANDOM_BYTES]);
        assert!(!format!("{key:?}").contains(&key.reveal()[20..]));
    }
}
