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
use tokio_util::sync::CancellationToken;

use super::{
    AccessError, Entrant, LastUsed, PresentedCredential, memory::Memory, tokens::AccessTokens,
};

/// How often the store is asked whether a credential was taken back.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// After so long without an answer to that, nothing remembered is trusted.
const WATCH_TRUSTED_FOR: Duration = Duration::from_secs(5);

/// From a credential to a principal, from memory where possible.
pub struct Authenticator {
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<AccessTokens>,
    clock: Arc<dyn Clock>,
    last_used: Arc<LastUsed>,
    memory: Memory,
    /// The store's access version when it was last read.
    version: AtomicI64,
    /// Until when memory is trusted on that, in milliseconds as the clock runs.
    watched_until: AtomicU64,
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
            memory: Memory::new(Arc::clone(&clock)),
            clock,
            last_used,
            version: AtomicI64::new(-1),
            watched_until: AtomicU64::new(0),
        }
    }

    /// Lets a credential in that was verified a moment ago, from memory alone: without a
    /// signature check and without a query.
    pub fn recognise(&self, credential: &PresentedCredential<'_>) -> Option<Arc<Entrant>> {
        let entrant = self.memory.recall(&credential.fingerprint)?;
        self.is_watching()
            .then(|| self.entered(entrant, self.clock.now()))
    }

    /// Whether a credential was good not long ago, though it must be looked at anew.
    pub fn knows(&self, credential: &PresentedCredential<'_>) -> bool {
        self.memory.knows(&credential.fingerprint)
    }

    /// Lets a credential in, or not: an API key or an access token.
    pub async fn authenticate(
        &self,
        credential: &PresentedCredential<'_>,
    ) -> Result<Arc<Entrant>, AccessError> {
        let PresentedCredential { text, fingerprint } = credential;
        let (now, epoch) = (self.clock.now(), self.memory.epoch());
        let verified = if text.starts_with(CredentialKind::Key.prefix()) {
            self.verify_key(text, now).await
        } else {
            self.tokens.verify(text).await
        };
        if matches!(verified, Err(AccessError::Invalid | AccessError::Expired)) {
            self.memory.drop_one(fingerprint);
        }
        let entrant = Arc::new(verified?);
        self.memory.keep(*fingerprint, &entrant, epoch);
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

    /// Whether it is known of the last seconds what was taken back in them.
    fn is_watching(&self) -> bool {
        let until = Duration::from_millis(self.watched_until.load(Ordering::Acquire));
        self.clock.running_for() < until
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
        let until = self.clock.running_for() + WATCH_TRUSTED_FOR;
        let version = self.credentials.access_version().await?;
        if self.version.load(Ordering::Acquire) != version {
            self.memory.forget();
            self.tokens.reload().await?;
            // What was let in meanwhile may rest on signing keys that count no more.
            self.memory.forget();
            self.version.store(version, Ordering::Release);
        }
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.watched_until.store(until, Ordering::Release);
        Ok(())
    }

    /// Forgets at once, after this process has taken something back, and then looks what else is
    /// to be read anew. What was taken back is refused here from now on, whether or not that look
    /// succeeds: the regular one follows soon.
    pub async fn watch_after_change(&self) {
        self.memory.forget();
        if let Err(error) = self.watch().await {
            tracing::warn!(
                error = ports::error::chain(&error),
                "the access version cannot be read after a change"
            );
        }
    }
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
