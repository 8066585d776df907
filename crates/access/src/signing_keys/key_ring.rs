//! The signing keys in the memory of one process.

use std::time::Duration;

use domain::{SigningKey, Timestamp};
use ports::RepositoryError;
use serde_json::Value;

use super::{EncryptionKey, KeyObstacle, SigningKeyError, key_pair::KeyPair};
use crate::jwt::VerifyingKey;

/// A stored signing key, prepared for use.
struct RingKey {
    kid: String,
    public_key: Value,
    verifying_key: VerifyingKey,
    pair: Result<KeyPair, KeyObstacle>,
    valid_until: Option<Timestamp>,
}

/// All signing keys, newest first.
#[derive(Default)]
pub(super) struct KeyRing(Vec<RingKey>);

impl KeyRing {
    /// Reads the stored keys, newest first. A key that is encrypted with another key than
    /// `encryption` can still verify signatures.
    pub(super) fn open(
        stored: &[SigningKey],
        encryption: Option<&EncryptionKey>,
    ) -> Result<Self, RepositoryError> {
        let keys = stored.iter().map(|key| {
            let verifying_key = VerifyingKey::from_jwk(&key.public_key);
            Ok(RingKey {
                kid: key.kid.clone(),
                public_key: key.public_key.clone(),
                verifying_key: verifying_key.ok_or_else(|| RepositoryError::Corrupt {
                    what: "signing_keys.public_key".to_owned(),
                    source: format!("the public half of {} is no key", key.kid).into(),
                })?,
                pair: open(key, encryption),
                valid_until: key.valid_until,
            })
        });
        keys.collect::<Result<_, _>>().map(Self)
    }

    /// The newest key that this process can sign with and whose signatures are accepted for at
    /// least `life`.
    pub(super) fn signer(
        &self,
        now: Timestamp,
        life: Duration,
    ) -> Result<&KeyPair, SigningKeyError> {
        let is_valid_for_life =
            |key: &&RingKey| key.valid_until.is_none_or(|end| now + life <= end);
        let mut valid = self.0.iter().filter(is_valid_for_life);
        let signer = valid.find_map(|key| key.pair.as_ref().ok());
        signer.ok_or_else(|| self.unreadable().unwrap_or(SigningKeyError::Missing))
    }

    /// Returns true if no key exists yet.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The error that prevents this process from signing with the newest key, if any.
    pub(super) fn unreadable(&self) -> Option<SigningKeyError> {
        let newest = self.0.first()?;
        let obstacle = *newest.pair.as_ref().err()?;
        let kid = newest.kid.clone();
        Some(SigningKeyError::Unreadable { kid, obstacle })
    }

    /// The key with this id, if its signatures are accepted.
    pub(super) fn verifying_key(&self, kid: &str, now: Timestamp) -> Option<VerifyingKey> {
        let key = self.accepted(now).find(|key| key.kid == kid)?;
        Some(key.verifying_key.clone())
    }

    /// The public halves of all keys whose signatures are accepted.
    pub(super) fn published(&self, now: Timestamp) -> Vec<Value> {
        self.accepted(now)
            .map(|key| key.public_key.clone())
            .collect()
    }

    fn accepted(&self, now: Timestamp) -> impl Iterator<Item = &RingKey> {
        self.0
            .iter()
            .filter(move |key| key.valid_until.is_none_or(|end| now < end))
    }
}

/// Decrypts and reads the key pair of a stored key. The thumbprint proves that the private half
/// belongs to the public half.
fn open(key: &SigningKey, encryption: Option<&EncryptionKey>) -> Result<KeyPair, KeyObstacle> {
    let pair = if key.is_sealed {
        let encryption = encryption.ok_or(KeyObstacle::NoEncryptionKey)?;
        let opened = encryption.open(&key.kid, &key.private_key);
        KeyPair::read(&opened.ok_or(KeyObstacle::OtherEncryptionKey)?)
    } else {
        KeyPair::read(&key.private_key)
    };
    pair.filter(|pair| pair.kid == key.kid)
        .ok_or(KeyObstacle::Damaged)
}
