//! The keys that sign the access tokens of this service: created, rotated and cached.

use std::{sync::Arc, time::Duration};

use aws_lc_rs::aead::NONCE_LEN;
use domain::{SigningKey, Timestamp};
use parking_lot::RwLock;
use ports::{Clock, IdSource, RepositoryError, SigningKeyRepository};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    EncryptionKey, PreviousKeys, SigningKeyError, error::copy_error, key_pair::KeyPair,
    key_ring::KeyRing,
};
use crate::jwt::VerifyingKey;

/// The interval between two checks of the age of the newest key.
const ROTATION_CHECK_INTERVAL: Duration = Duration::from_hours(1);
/// The minimum time between two reads of the store because of an unknown key id.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of attempts of a rotation by command. An attempt fails if another process
/// rotates the keys first.
const ATTEMPTS: usize = 5;

/// The signing keys of a store, cached in this process.
pub struct SigningKeys {
    repository: Arc<dyn SigningKeyRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    encryption: Option<EncryptionKey>,
    maximum_age: Duration,
    ring: RwLock<Arc<KeyRing>>,
    /// The last read of the store because of an unknown key id. The lock is held while keys are
    /// read, so that no older list replaces a newer one.
    last_refresh: Mutex<LastRefresh>,
}

/// A read of the store because of an unknown key id.
#[derive(Default)]
struct LastRefresh {
    /// The time of the read, as measured by `Clock::running_for`.
    at: Option<Duration>,
    /// The error of the read. A later successful read clears it.
    failure: Option<Arc<RepositoryError>>,
}

impl SigningKeys {
    /// Creates an empty cache of the keys in a store. New keys are encrypted with `encryption`, if
    /// configured, and replaced after `maximum_age`.
    pub fn new(
        repository: Arc<dyn SigningKeyRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        encryption: Option<EncryptionKey>,
        maximum_age: Duration,
    ) -> Self {
        Self {
            repository,
            clock,
            ids,
            encryption,
            maximum_age,
            ring: RwLock::default(),
            last_refresh: Mutex::default(),
        }
    }

    /// Reads the keys, and creates the first key of a new store. Fails if this process cannot read
    /// the private half of the newest key.
    pub async fn prepare(&self) -> Result<(), SigningKeyError> {
        self.reload().await?;
        if self.ring().is_empty() {
            // If another process has added the first key meanwhile, that key is used.
            self.add(None, PreviousKeys::Overlap).await?;
        }
        match self.ring().unreadable() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Reads the keys again, after a known or possible change.
    pub async fn reload(&self) -> Result<(), RepositoryError> {
        let mut last_refresh = self.last_refresh.lock().await;
        self.read().await?;
        last_refresh.failure = None;
        Ok(())
    }

    /// Reads the keys. The caller holds the lock on `last_refresh`.
    async fn read(&self) -> Result<(), RepositoryError> {
        let stored = self.repository.list().await?;
        let ring = KeyRing::open(&stored, self.encryption.as_ref())?;
        if let Some(error) = ring.unreadable() {
            tracing::error!(
                error = ports::error::one_line(&error),
                "newest signing key cannot be read; it signs no tokens"
            );
        }
        *self.ring.write() = Arc::new(ring);
        Ok(())
    }

    /// Replaces the newest key with a new one and returns the id of the new key.
    pub async fn rotate(&self, previous: PreviousKeys) -> Result<String, SigningKeyError> {
        for _ in 0..ATTEMPTS {
            let newest = self.repository.list().await?.into_iter().next();
            if let Some(kid) = self.add(newest.as_ref(), previous).await? {
                return Ok(kid);
            }
        }
        Err(SigningKeyError::Contended)
    }

    /// Replaces the newest key if it is too old. If several processes try at the same time, one of
    /// them succeeds.
    pub async fn rotate_if_due(&self) -> Result<(), SigningKeyError> {
        let newest = self.repository.list().await?.into_iter().next();
        let now = self.clock.now();
        if newest
            .as_ref()
            .is_some_and(|newest| now.since(newest.created_at) < self.maximum_age)
        {
            return Ok(());
        }
        if let Some(kid) = self.add(newest.as_ref(), PreviousKeys::Overlap).await? {
            tracing::info!(kid, "signing key rotated");
        }
        Ok(())
    }

    /// Rotates keys by age until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "signing keys cannot be rotated";
        application::background::every(ROTATION_CHECK_INTERVAL, &stop, failure, || {
            self.rotate_if_due()
        })
        .await;
    }

    /// All keys in the store, newest first.
    pub async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        self.repository.list().await
    }

    /// The public halves of all keys whose signatures are accepted, in the form of a JWK set.
    pub fn published(&self) -> Vec<Value> {
        self.ring().published(self.clock.now())
    }

    /// Returns a token with this media type, these claims and this critical extension. The signing key is one
    /// whose signatures are accepted for at least `life`.
    pub(crate) fn sign(
        &self,
        media_type: &str,
        claims: &impl Serialize,
        critical: Option<&str>,
        life: Duration,
    ) -> Result<String, SigningKeyError> {
        let ring = self.ring();
        let signer = ring.signer(self.clock.now(), life)?;
        signer.sign(media_type, claims, critical)
    }

    /// Returns the key with this id, if its signatures are accepted. For an unknown id the store is
    /// read, because another process may have just created the key. Such reads happen at most once
    /// a second. If the read fails, the key may exist nevertheless, so all calls for unknown ids
    /// within this second return the same error.
    pub(crate) async fn verifying_key(
        &self,
        kid: &str,
    ) -> Result<Option<VerifyingKey>, RepositoryError> {
        if let Some(key) = self.ring().verifying_key(kid, self.clock.now()) {
            return Ok(Some(key));
        }
        let mut last_refresh = self.last_refresh.lock().await;
        let now = self.clock.running_for();
        let is_due = |last: Duration| now.saturating_sub(last) >= MIN_REFRESH_INTERVAL;
        if last_refresh.at.is_none_or(is_due) {
            let outcome = self.read().await;
            *last_refresh = LastRefresh {
                at: Some(now),
                failure: outcome.err().map(Arc::new),
            };
        }
        match &last_refresh.failure {
            Some(failure) => Err(copy_error(failure)),
            None => Ok(self.ring().verifying_key(kid, self.clock.now())),
        }
    }

    fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read())
    }

    /// Adds a key after `newest` and reads all keys again. Returns the id of the new key, or `None`
    /// if another process added one first.
    async fn add(
        &self,
        newest: Option<&SigningKey>,
        previous: PreviousKeys,
    ) -> Result<Option<String>, SigningKeyError> {
        let now = self.clock.now();
        // The new key must be newer than the previous one even if another node's clock is ahead.
        let after = newest.map(|newest| newest.created_at + Duration::from_millis(1));
        let key = self.generate(after.map_or(now, |after| after.max(now)))?;
        let newest = newest.map(|newest| newest.kid.as_str());
        let is_added = self
            .repository
            .add(&key, newest, previous.until(now))
            .await?;
        self.reload().await?;
        Ok(is_added.then_some(key.kid))
    }

    fn generate(&self, created_at: Timestamp) -> Result<SigningKey, SigningKeyError> {
        let (pair, pkcs8) = KeyPair::generate()?;
        let private_key = match &self.encryption {
            None => pkcs8,
            Some(encryption) => {
                let mut nonce = [0; NONCE_LEN];
                self.ids.fill_random(&mut nonce);
                let sealed = encryption.seal(&pair.kid, nonce, &pkcs8);
                sealed.ok_or(SigningKeyError::Cryptography)?
            }
        };
        Ok(SigningKey {
            kid: pair.kid,
            private_key,
            is_sealed: self.encryption.is_some(),
            public_key: pair.public_key,
            created_at,
            valid_until: None,
        })
    }
}
