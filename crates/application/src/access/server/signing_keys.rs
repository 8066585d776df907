//! The keys that sign our access tokens: made, rotated, and remembered.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use aws_lc_rs::aead::NONCE_LEN;
use domain::{SigningKey, Timestamp};
use ports::{Clock, IdSource, RepositoryError, SigningKeyRepository};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{EncryptionKey, PreviousKeys, SigningKeyError, key_pair::KeyPair, key_ring::KeyRing};
use crate::access::jwt::VerifyingKey;

/// How often it is looked whether the newest key is too old.
const INTERVAL: Duration = Duration::from_hours(1);
/// The shortest time between two looks at the store for keys that nobody has heard of.
const COOL_DOWN: Duration = Duration::from_secs(1);
/// So often a rotation by command begins anew when another process was quicker.
const ATTEMPTS: usize = 5;

/// The signing keys of a store, as this process remembers them.
pub struct SigningKeys {
    repository: Arc<dyn SigningKeyRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    encryption: Option<EncryptionKey>,
    maximum_age: Duration,
    ring: RwLock<Arc<KeyRing>>,
    /// The last look at the store because of an unknown key. Held while keys are read, so that no
    /// older list replaces a newer one.
    last_look: Mutex<LastRefresh>,
}

/// A look at the store because of an unknown key.
#[derive(Default)]
struct LastRefresh {
    /// As `Clock::running_for` measures it.
    at: Option<Duration>,
    /// Why the keys could not be read, unless they were read since.
    failure: Option<Arc<RepositoryError>>,
}

impl SigningKeys {
    /// Keys of a store, none of which is known yet. New ones are encrypted with `encryption`, if
    /// there is one, and replaced after `maximum_age`.
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
            last_look: Mutex::default(),
        }
    }

    /// Reads the keys and makes the first one of a new store. Fails when the key that is to sign
    /// cannot be read.
    pub async fn prepare(&self) -> Result<(), SigningKeyError> {
        self.reload().await?;
        if self.ring().is_empty() {
            // When it was added by another process meanwhile, that one is as good.
            self.add(None, PreviousKeys::Overlap).await?;
        }
        match self.ring().unreadable() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Reads the keys anew: they have changed, or may have.
    pub async fn reload(&self) -> Result<(), RepositoryError> {
        let mut last_look = self.last_look.lock().await;
        self.read().await?;
        last_look.failure = None;
        Ok(())
    }

    /// Reads the keys; the caller holds the lock of the last look.
    async fn read(&self) -> Result<(), RepositoryError> {
        let stored = self.repository.list().await?;
        let ring = KeyRing::open(&stored, self.encryption.as_ref())?;
        if let Some(error) = ring.unreadable() {
            tracing::error!(
                error = ports::error::chain(&error),
                "nothing can be signed with the newest key"
            );
        }
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(ring);
        Ok(())
    }

    /// Puts a new key in the place of the newest; answers its id.
    pub async fn rotate(&self, previous: PreviousKeys) -> Result<String, SigningKeyError> {
        for _ in 0..ATTEMPTS {
            let newest = self.repository.list().await?.into_iter().next();
            if let Some(kid) = self.add(newest.as_ref(), previous).await? {
                return Ok(kid);
            }
        }
        Err(SigningKeyError::Contended)
    }

    /// Puts a new key in the place of the newest if that is too old; of several processes that
    /// find so at the same time, one does it.
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
            tracing::info!(kid, "a new signing key signs from now on");
        }
        Ok(())
    }

    /// Rotates by age until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "the signing keys cannot be rotated";
        crate::background::every(INTERVAL, &stop, failure, || self.rotate_if_due()).await;
    }

    /// All keys that the store still has, newest first.
    pub async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        self.repository.list().await
    }

    /// The public halves of all keys whose signatures count, as a JWK set has them.
    pub fn published(&self) -> Vec<Value> {
        self.ring().published(self.clock.now())
    }

    /// A token of this media type with these claims, signed by a key whose signatures count for
    /// `life` at least.
    pub(super) fn sign(
        &self,
        media_type: &str,
        claims: &impl Serialize,
        life: Duration,
    ) -> Result<String, SigningKeyError> {
        let ring = self.ring();
        let signer = ring.signer(self.clock.now(), life)?;
        signer.sign(media_type, claims)
    }

    /// The key of this id, if its signatures count. For an unknown one the store is asked, once a
    /// second at the most: another process may have made it a moment ago. Whether there is one
    /// cannot be said until that has succeeded, so that a failure is repeated to all who come
    /// within this second.
    pub(super) async fn verifying(
        &self,
        kid: &str,
    ) -> Result<Option<VerifyingKey>, RepositoryError> {
        if let Some(key) = self.ring().verifying(kid, self.clock.now()) {
            return Ok(Some(key));
        }
        let mut last_look = self.last_look.lock().await;
        let now = self.clock.running_for();
        let is_due = |last: Duration| now.saturating_sub(last) >= COOL_DOWN;
        if last_look.at.is_none_or(is_due) {
            let outcome = self.read().await;
            *last_look = LastRefresh {
                at: Some(now),
                failure: outcome.err().map(Arc::new),
            };
        }
        match &last_look.failure {
            Some(failure) => Err(again(failure)),
            None => Ok(self.ring().verifying(kid, self.clock.now())),
        }
    }

    fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a key after `newest` and reads all anew; answers its id unless another process was
    /// quicker.
    async fn add(
        &self,
        newest: Option<&SigningKey>,
        previous: PreviousKeys,
    ) -> Result<Option<String>, SigningKeyError> {
        let now = self.clock.now();
        // Newer than the one before also when another node's clock is ahead.
        let after = newest.map(|newest| newest.created_at + Duration::from_millis(1));
        let key = self.make(after.map_or(now, |after| after.max(now)))?;
        let newest = newest.map(|newest| newest.kid.as_str());
        let is_added = self
            .repository
            .add(&key, newest, previous.until(now))
            .await?;
        self.reload().await?;
        Ok(is_added.then_some(key.kid))
    }

    fn make(&self, created_at: Timestamp) -> Result<SigningKey, SigningKeyError> {
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

/// A failure for another caller.
fn again(failure: &Arc<RepositoryError>) -> RepositoryError {
    let cause = Arc::clone(failure);
    match &**failure {
        RepositoryError::Corrupt { what, .. } => RepositoryError::Corrupt {
            what: what.clone(),
            source: Box::new(cause),
        },
        RepositoryError::Conflict { .. }
        | RepositoryError::Stale { .. }
        | RepositoryError::Unavailable(_) => RepositoryError::Unavailable(Box::new(cause)),
    }
}
