//! Authentication of API keys and access tokens.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{
    Credential, CredentialKind, CredentialSecret, CredentialSource, Principal, SecretDigest,
    Timestamp,
};
use ports::{Clock, CredentialRepository, RepositoryError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    AccessError, AuthContext, CredentialStatus, CredentialWatch, LastUsed, PresentedCredential,
    auth_cache::AuthCache, status_checks::StatusChecks, tokens::AccessTokens,
};

/// The interval between two reads of the access version: one row by its key. Even on a busy
/// machine, a revocation takes effect within one second.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);
/// The time without a successful read of the access version after which the cache is not used.
const WATCH_TRUSTED_FOR: Duration = Duration::from_secs(5);

/// Authenticates API keys and access tokens, from its cache where possible.
pub struct Authenticator {
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<AccessTokens>,
    clock: Arc<dyn Clock>,
    last_used: Arc<LastUsed>,
    memory: AuthCache,
    looks: StatusChecks,
    /// Notifies of each change of the access version, once the dependent data is read again.
    changes: watch::Sender<()>,
    /// The access version at its last read.
    version: AtomicI64,
    /// The time until which the cache may be used after the last read, in milliseconds of
    /// `Clock::running_for`.
    watched_until: AtomicU64,
}

impl Authenticator {
    /// Creates an authenticator for the credentials of a store and for access tokens.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        tokens: Arc<AccessTokens>,
        clock: Arc<dyn Clock>,
        last_used: Arc<LastUsed>,
    ) -> Self {
        Self {
            credentials,
            tokens,
            memory: AuthCache::new(Arc::clone(&clock)),
            looks: StatusChecks::new(),
            changes: watch::Sender::new(()),
            clock,
            last_used,
            version: AtomicI64::new(-1),
            watched_until: AtomicU64::new(0),
        }
    }

    /// Authenticates a recently verified credential from the cache alone, without a signature check
    /// or a query.
    pub fn recognise(&self, credential: &PresentedCredential<'_>) -> Option<Arc<AuthContext>> {
        let entrant = self.memory.get(&credential.fingerprint)?;
        self.is_watching()
            .then(|| self.entered(entrant, self.clock.now()))
    }

    /// Returns true if the credential was recently valid, even if it must be verified again.
    pub fn knows(&self, credential: &PresentedCredential<'_>) -> bool {
        self.memory.knows(&credential.fingerprint)
    }

    /// Authenticates an API key or an access token.
    pub async fn authenticate(
        &self,
        credential: &PresentedCredential<'_>,
    ) -> Result<Arc<AuthContext>, AccessError> {
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
        let ends_at = entrant.ends_at;
        let found = CredentialStatus::Stands { ends_at };
        self.looks.keep(&entrant.standing, epoch, found);
        Ok(self.entered(entrant, now))
    }

    fn entered(&self, entrant: Arc<AuthContext>, now: Timestamp) -> Arc<AuthContext> {
        if let Some(credential) = &entrant.credential {
            self.last_used.note(credential, now);
        }
        entrant
    }

    async fn verify_key(&self, text: &str, now: Timestamp) -> Result<AuthContext, AccessError> {
        let secret = CredentialSecret::parse(CredentialKind::Key, text)
            .map_err(|_malformed| AccessError::Invalid)?;
        let found = self
            .credentials
            .find(CredentialKind::Key, &secret.id())
            .await?;
        let verified = found.and_then(|key| {
            let verified = key.verify(&secret.digest(), now)?;
            Some(entrant(key, secret.digest(), verified.until))
        });
        verified.ok_or(AccessError::Invalid)
    }

    /// Watches the credential of an open socket or stream.
    pub fn watch_over(self: &Arc<Self>, entrant: Arc<AuthContext>) -> CredentialWatch {
        let changes = self.changes.subscribe();
        CredentialWatch::new(Arc::clone(self), entrant, changes, self.now())
    }

    /// Checks the current status of a credential, without its secret or token. The result is shared
    /// with other connections of the same credential until the access version changes.
    pub async fn look_again(&self, entrant: &AuthContext) -> Result<CredentialStatus, AccessError> {
        let look = self.look(entrant);
        let found = if self.is_watching() {
            let epoch = self.memory.epoch();
            self.looks.again(&entrant.standing, epoch, look).await?
        } else {
            look.await?
        };
        Ok(found.at(self.now(), entrant))
    }

    async fn look(&self, entrant: &AuthContext) -> Result<CredentialStatus, AccessError> {
        match &entrant.standing {
            CredentialSource::Key { id, digest } => {
                let found = self.credentials.find(CredentialKind::Key, id).await?;
                Ok(CredentialStatus::of_key(found.as_ref(), digest, self.now()))
            }
            CredentialSource::OwnToken {
                id,
                client,
                signing_key,
            } => {
                let tokens = self.tokens.own();
                let found = tokens.look_again(*id, client, signing_key, entrant.ends_at);
                found.await
            }
            CredentialSource::ForeignToken => Ok(CredentialStatus::Stands {
                ends_at: entrant.ends_at,
            }),
        }
    }

    /// The current time of day.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns true if the access version was read within the last seconds, so that the cache is
    /// current.
    fn is_watching(&self) -> bool {
        let until = Duration::from_millis(self.watched_until.load(Ordering::Acquire));
        self.clock.running_for() < until
    }

    /// Watches the access version until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let failure = "the access version cannot be read";
        application::background::every(WATCH_INTERVAL, &stop, failure, || self.watch()).await;
    }

    /// Reads the access version once, and clears the cache if it has changed.
    pub async fn watch(&self) -> Result<(), RepositoryError> {
        let until = self.clock.running_for() + WATCH_TRUSTED_FOR;
        let version = self.credentials.access_version().await?;
        if self.version.load(Ordering::Acquire) != version {
            self.memory.forget();
            self.tokens.reload().await?;
            // Credentials that were verified meanwhile may depend on signing keys that are no
            // longer valid.
            self.memory.forget();
            self.version.store(version, Ordering::Release);
            self.changes.send_replace(());
        }
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.watched_until.store(until, Ordering::Release);
        Ok(())
    }

    /// Clears the cache at once, after this process has changed credentials, and then reads the
    /// access version. A revoked credential is rejected from now on even if that read fails; the
    /// regular read follows soon.
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

fn entrant(key: Credential, digest: SecretDigest, ends_at: Option<Timestamp>) -> AuthContext {
    AuthContext {
        principal: Principal {
            id: key.principal(),
            tenant: key.tenant,
            scopes: key.scopes,
            user_id: None,
        },
        credential: Some(key.id.clone()),
        standing: CredentialSource::Key { id: key.id, digest },
        allowed_origins: key.allowed_origins,
        limits: key.limits,
        ends_at,
    }
}
