//! The signing keys as one process knows them.

use std::time::Duration;

use domain::{SigningKey, Timestamp};
use ports::RepositoryError;
use serde_json::Value;

use super::{EncryptionKey, key_pair::KeyPair};
use crate::access::jwt::VerifyingKey;

/// A signing key as this process can use it.
struct Held {
    kid: String,
    public_key: Value,
    verifying: VerifyingKey,
    /// Absent when the private half is encrypted with another key than ours.
    pair: Option<KeyPair>,
    valid_until: Option<Timestamp>,
}

/// All signing keys, newest first.
#[derive(Default)]
pub(super) struct KeyRing(Vec<Held>);

impl KeyRing {
    /// From the stored keys, newest first. What is encrypted with another key than `encryption`
    /// can still prove what it signed.
    pub(super) fn open(
        stored: &[SigningKey],
        encryption: Option<&EncryptionKey>,
    ) -> Result<Self, RepositoryError> {
        let held = stored.iter().map(|key| {
            let verifying = VerifyingKey::from_jwk(&key.public_key);
            Ok(Held {
                kid: key.kid.clone(),
                public_key: key.public_key.clone(),
                verifying: verifying.ok_or_else(|| RepositoryError::Corrupt {
                    what: "signing_keys.public_key".to_owned(),
                    source: format!("the public half of {} is no key", key.kid).into(),
                })?,
                pair: open(key, encryption),
                valid_until: key.valid_until,
            })
        });
        held.collect::<Result<_, _>>().map(Self)
    }

    /// The newest key that this process can sign with, and whose signatures count for `life` at
    /// least.
    pub(super) fn signer(&self, now: Timestamp, life: Duration) -> Option<&KeyPair> {
        let lives = |held: &&Held| held.valid_until.is_none_or(|end| now + life <= end);
        self.0
            .iter()
            .filter(lives)
            .find_map(|held| held.pair.as_ref())
    }

    /// The id of the newest key.
    pub(super) fn newest(&self) -> Option<&str> {
        self.0.first().map(|held| held.kid.as_str())
    }

    /// The newest key, when this process cannot sign with it.
    pub(super) fn unreadable(&self) -> Option<&str> {
        let newest = self.0.first()?;
        newest.pair.is_none().then_some(newest.kid.as_str())
    }

    /// The key of this id, if its signatures count.
    pub(super) fn verifying(&self, kid: &str, now: Timestamp) -> Option<VerifyingKey> {
        let held = self.counting(now).find(|held| held.kid == kid)?;
        Some(held.verifying.clone())
    }

    /// The public halves of all keys whose signatures count.
    pub(super) fn published(&self, now: Timestamp) -> Vec<Value> {
        self.counting(now)
            .map(|held| held.public_key.clone())
            .collect()
    }

    fn counting(&self, now: Timestamp) -> impl Iterator<Item = &Held> {
        self.0
            .iter()
            .filter(move |held| held.valid_until.is_none_or(|end| now < end))
    }
}

/// The key pair of a stored key. Its private half must be that of the public one: its thumbprint
/// says so.
fn open(key: &SigningKey, encryption: Option<&EncryptionKey>) -> Option<KeyPair> {
    let pair = if key.is_sealed {
        KeyPair::read(&encryption?.open(&key.kid, &key.private_key)?)
    } else {
        KeyPair::read(&key.private_key)
    };
    pair.filter(|pair| pair.kid == key.kid)
}
