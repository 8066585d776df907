//! From a credential to a principal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use domain::{
    ApiKey, KeyId, Principal, Timestamp,
    api_key::{ApiKeySecret, SecretDigest},
};
use ports::{Clock, KeyRepository, RepositoryError};
use quick_cache::sync::Cache;
use tokio_util::sync::CancellationToken;

use super::LastUsed;

/// How long a verified credential is trusted without another look at the store.
const TRUSTED_FOR: Duration = Duration::from_secs(30);
/// How many verified credentials are remembered.
const REMEMBERED: usize = 10_000;
/// How often the store is asked whether a credential was taken back.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// After so long without an answer to that, nothing remembered is trusted.
const WATCH_TRUSTED_FOR: Duration = Duration::from_secs(5);

/// Why a credential was not let in.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It is mistyped, unknown, expired or revoked; which of them is not told.
    #[error("the credential is not valid")]
    Invalid,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// A principal that was let in, with what holds for its credential.
#[derive(Debug)]
pub struct Entrant {
    /// Who it is.
    pub principal: Principal,
    /// The key it came with.
    pub key: KeyId,
    /// Browser origins that alone may use the credential; empty for any.
    pub allowed_origins: Vec<String>,
}

#[derive(Clone)]
struct Remembered {
    entrant: Arc<Entrant>,
    until: Timestamp,
    /// The access version that was known before the store was asked.
    version: i64,
}

/// From a credential to a principal, from memory where possible.
pub struct Authenticator {
    keys: Arc<dyn KeyRepository>,
    clock: Arc<dyn Clock>,
    last_used: Arc<LastUsed>,
    remembered: Cache<SecretDigest, Remembered>,
    /// The store's access version when it was last read, and when that was.
    version: AtomicI64,
    watched_at: AtomicI64,
}

impl Authenticator {
    /// An authenticator over the keys of a store.
    pub fn new(
        keys: Arc<dyn KeyRepository>,
        clock: Arc<dyn Clock>,
        last_used: Arc<LastUsed>,
    ) -> Self {
        Self {
            keys,
            clock,
            last_used,
            remembered: Cache::new(REMEMBERED),
            version: AtomicI64::new(-1),
            watched_at: AtomicI64::new(0),
        }
    }

    /// Lets an API key in, or not.
    pub async fn authenticate(&self, text: &str) -> Result<Arc<Entrant>, AccessError> {
        let secret = ApiKeySecret::parse(text).map_err(|_malformed| AccessError::Invalid)?;
        let digest = secret.digest();
        let now = self.clock.now();
        if let Some(remembered) = self.remembered.get(&digest)
            && now < remembered.until
            && remembered.version == self.version.load(Ordering::Acquire)
            && self.is_watching(now)
        {
            self.last_used.note(&remembered.entrant.key, now);
            return Ok(remembered.entrant);
        }
        let version = self.version.load(Ordering::Acquire);
        let found = self.keys.find(&secret.id()).await?;
        let Some((key, verified)) =
            found.and_then(|key| key.verify(&digest, now).map(|verified| (key, verified)))
        else {
            self.remembered.remove(&digest);
            return Err(AccessError::Invalid);
        };
        self.last_used.note(&key.id, now);
        let until = verified
            .until
            .map_or(now + TRUSTED_FOR, |end| end.min(now + TRUSTED_FOR));
        let entrant = Arc::new(entrant(key));
        let remembered = Remembered {
            entrant: Arc::clone(&entrant),
            until,
            version,
        };
        self.remembered.insert(digest, remembered);
        Ok(entrant)
    }

    fn is_watching(&self, now: Timestamp) -> bool {
        let watched = Timestamp::from_milliseconds(self.watched_at.load(Ordering::Acquire));
        now.since(watched) < WATCH_TRUSTED_FOR
    }

    /// Watches for credentials that are taken back, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(WATCH_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.watch().await {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "the access version cannot be read"
                );
            }
        }
    }

    /// Looks once whether credentials were taken back.
    pub async fn watch(&self) -> Result<(), RepositoryError> {
        let asked_at = self.clock.now();
        let version = self.keys.access_version().await?;
        if self.version.swap(version, Ordering::AcqRel) != version {
            self.remembered.clear();
        }
        self.watched_at
            .store(asked_at.milliseconds(), Ordering::Release);
        Ok(())
    }
}

fn entrant(key: ApiKey) -> Entrant {
    Entrant {
        principal: Principal {
            id: key.id.principal(),
            tenant: key.tenant,
            scopes: key.scopes,
            user_id: None,
        },
        key: key.id,
        allowed_origins: key.allowed_origins,
    }
}
