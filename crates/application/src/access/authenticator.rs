//! From a credential to a principal.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{Credential, CredentialKind, CredentialSecret, Principal, Timestamp};
use ports::{Clock, CredentialRepository, RepositoryError};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{AccessError, Entrant, LastUsed, tokens::AccessTokens};

/// How long a verified credential is trusted without another look at the store.
const TRUSTED_FOR: Duration = Duration::from_secs(30);
/// How many verified credentials are remembered.
const REMEMBERED: usize = 10_000;
/// How often the store is asked whether a credential was taken back.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// After so long without an answer to that, nothing remembered is trusted.
const WATCH_TRUSTED_FOR: Duration = Duration::from_secs(5);

/// SHA-256 of a credential's whole text: what it is remembered by.
type Fingerprint = [u8; 32];

#[derive(Clone)]
struct Remembered {
    entrant: Arc<Entrant>,
    until: Timestamp,
    /// The epoch before the store was asked.
    epoch: u64,
}

/// From a credential to a principal, from memory where possible.
pub struct Authenticator {
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<AccessTokens>,
    clock: Arc<dyn Clock>,
    last_used: Arc<LastUsed>,
    remembered: Cache<Fingerprint, Remembered>,
    /// The store's access version when it was last read, and when that was.
    version: AtomicI64,
    watched_at: AtomicI64,
    /// Raised whenever all that is remembered is to be forgotten: what was begun before then is
    /// not to be remembered any more.
    epoch: AtomicU64,
}

impl Authenticator {
    /// An authenticator over the credentials of a store, and over access tokens.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        tokens: Arc<AccessTokens>,
        clock: Arc<dyn Clock>,
        last_used: Arc<LastUsed>,
    ) -> Self {
        Self {
            credentials,
            tokens,
            clock,
            last_used,
            remembered: Cache::new(REMEMBERED),
            version: AtomicI64::new(-1),
            watched_at: AtomicI64::new(0),
            epoch: AtomicU64::new(0),
        }
    }

    /// Lets a credential in that was verified a moment ago, from memory alone: without a
    /// signature check and without a query.
    pub fn recognise(&self, text: &str) -> Option<Arc<Entrant>> {
        let now = self.clock.now();
        let remembered = self.remembered.get(&fingerprint(text))?;
        let is_good = now < remembered.until
            && remembered.epoch == self.epoch.load(Ordering::Acquire)
            && self.is_watching(now);
        is_good.then(|| self.entered(remembered.entrant, now))
    }

    /// Lets a credential in, or not: an API key or an access token.
    pub async fn authenticate(&self, text: &str) -> Result<Arc<Entrant>, AccessError> {
        let now = self.clock.now();
        let epoch = self.epoch.load(Ordering::Acquire);
        let verified = if text.starts_with(CredentialKind::Key.prefix()) {
            self.verify_key(text, now).await
        } else {
            self.tokens.verify(text).await
        };
        if matches!(verified, Err(AccessError::Invalid | AccessError::Expired)) {
            self.remembered.remove(&fingerprint(text));
        }
        let entrant = Arc::new(verified?);
        let trusted_until = now + TRUSTED_FOR;
        let remembered = Remembered {
            entrant: Arc::clone(&entrant),
            until: entrant
                .ends_at
                .map_or(trusted_until, |end| end.min(trusted_until)),
            epoch,
        };
        self.remembered.insert(fingerprint(text), remembered);
        Ok(self.entered(entrant, now))
    }

    fn entered(&self, entrant: Arc<Entrant>, now: Timestamp) -> Arc<Entrant> {
        if let Some(credential) = &entrant.credential {
            self.last_used.note(credential, now);
        }
        entrant
    }

    async fn verify_key(&self, text: &str, now: Timestamp) -> Result<Entrant, AccessError> {
        let secret = CredentialSecret::parse(CredentialKind::Key, text)
            .map_err(|_malformed| AccessError::Invalid)?;
        let found = self
            .credentials
            .find(CredentialKind::Key, &secret.id())
            .await?;
        let verified = found.and_then(|key| {
            let verified = key.verify(&secret.digest(), now)?;
            Some(entrant(key, verified.until))
        });
        verified.ok_or(AccessError::Invalid)
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
        let version = self.credentials.access_version().await?;
        if self.version.load(Ordering::Acquire) != version {
            self.forget();
            self.tokens.reload().await?;
            // What was let in meanwhile may rest on signing keys that count no more.
            self.forget();
            self.version.store(version, Ordering::Release);
        }
        self.watched_at
            .store(asked_at.milliseconds(), Ordering::Release);
        Ok(())
    }

    /// Forgets at once, after this process has taken something back, and then looks what else is
    /// to be read anew. What was taken back is refused here from now on, whether or not that look
    /// succeeds: the regular one follows soon.
    pub async fn watch_after_change(&self) {
        self.forget();
        if let Err(error) = self.watch().await {
            tracing::warn!(
                error = ports::error::chain(&error),
                "the access version cannot be read after a change"
            );
        }
    }

    fn forget(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.remembered.clear();
    }
}

fn fingerprint(text: &str) -> Fingerprint {
    Sha256::digest(text.as_bytes()).into()
}

fn entrant(key: Credential, ends_at: Option<Timestamp>) -> Entrant {
    Entrant {
        principal: Principal {
            id: key.principal(),
            tenant: key.tenant,
            scopes: key.scopes,
            user_id: None,
        },
        credential: Some(key.id),
        allowed_origins: key.allowed_origins,
        limits: key.limits,
        ends_at,
    }
}
