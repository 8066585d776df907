//! Authentication of API keys and access tokens.

mod access_version;
mod withdrawals;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{CredentialId, CredentialKind, CredentialSecret, CredentialSource, Timestamp};
use futures::future::BoxFuture;
use ports::{Clock, CredentialRepository, RepositoryError};
use tokio::sync::{Mutex, Notify, watch};

use crate::{
    AccessError, AuthContext, CredentialStatus, CredentialWatch, HomeAuthority, LastUseRecorder,
    PresentedCredential,
    auth_cache::AuthCache,
    status_cache::StatusCache,
    tokens::{AccessTokens, OwnTokens},
};

/// Authenticates API keys and access tokens, from its cache where possible.
pub struct Authenticator {
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<AccessTokens>,
    clock: Arc<dyn Clock>,
    last_used: Arc<LastUseRecorder>,
    /// The home region, in a far region.
    home: Option<Arc<HomeAuthority>>,
    cache: AuthCache,
    statuses: StatusCache,
    /// Notifies of each change of the access version, once the dependent data is read again.
    changes: watch::Sender<()>,
    /// Notified of each change by this process.
    own_change: Notify,
    /// The running read of a replica's access version.
    replica_read: Mutex<Option<BoxFuture<'static, Result<i64, RepositoryError>>>>,
    /// The access version at its last read.
    version: AtomicI64,
    /// The time until which the cache may be used after the last read, in milliseconds of
    /// `Clock::running_for`.
    current_until: AtomicU64,
}

impl Authenticator {
    /// Creates an authenticator for the credentials of a store and for access tokens.
    pub fn new(
        credentials: Arc<dyn CredentialRepository>,
        tokens: Arc<AccessTokens>,
        clock: Arc<dyn Clock>,
        last_used: Arc<LastUseRecorder>,
    ) -> Self {
        Self {
            credentials,
            tokens,
            cache: AuthCache::new(Arc::clone(&clock)),
            statuses: StatusCache::new(),
            changes: watch::Sender::new(()),
            own_change: Notify::new(),
            replica_read: Mutex::default(),
            clock,
            last_used,
            home: None,
            version: AtomicI64::new(-1),
            current_until: AtomicU64::new(0),
        }
    }

    /// Lets the home region decide what a replica cannot.
    #[must_use]
    pub fn with_home(self, home: Option<Arc<HomeAuthority>>) -> Self {
        Self { home, ..self }
    }

    /// Authenticates a recently verified credential from the cache alone, without a signature check
    /// or a query.
    pub fn authenticate_cached(
        &self,
        credential: &PresentedCredential<'_>,
    ) -> Option<Arc<AuthContext>> {
        let auth_context = self.cache.get(&credential.fingerprint)?;
        let is_open = self.home.as_ref().is_none_or(|home| home.is_open());
        if !is_open || !self.is_current() {
            return None;
        }
        self.record_use(&auth_context, self.clock.now());
        Some(auth_context)
    }

    /// Returns true if the credential was recently valid, even if it must be verified again.
    pub fn was_recently_valid(&self, credential: &PresentedCredential<'_>) -> bool {
        self.cache.was_recently_valid(&credential.fingerprint)
    }

    /// Authenticates an API key or an access token.
    pub async fn authenticate(
        &self,
        credential: &PresentedCredential<'_>,
    ) -> Result<Arc<AuthContext>, AccessError> {
        let PresentedCredential { text, fingerprint } = credential;
        let (now, generation) = (self.clock.now(), self.cache.generation());
        let verified = match &self.home {
            Some(home) => self.verify_in_far_region(home, text, now).await,
            None => self.verify(text, now).await,
        };
        if matches!(verified, Err(AccessError::Invalid | AccessError::Expired)) {
            self.cache.remove(fingerprint);
        }
        let auth_context = Arc::new(verified?);
        self.cache.insert(*fingerprint, &auth_context, generation);
        let ends_at = auth_context.ends_at;
        let status = CredentialStatus::Valid { ends_at };
        self.statuses.insert(&auth_context, generation, status);
        self.record_use(&auth_context, now);
        Ok(auth_context)
    }

    fn record_use(&self, auth_context: &AuthContext, now: Timestamp) {
        if let Some(credential) = &auth_context.credential {
            self.last_used.record(credential, now);
        }
    }

    /// Verifies a credential by the store of this region.
    async fn verify(&self, text: &str, now: Timestamp) -> Result<AuthContext, AccessError> {
        if text.starts_with(CredentialKind::Key.prefix()) {
            self.verify_key(text, now).await
        } else {
            self.tokens.authenticate(text).await
        }
    }

    /// Verifies a credential by the replica, and at home if the replica may accept a revoked one, does
    /// not know it yet, or cannot be read.
    async fn verify_in_far_region(
        &self,
        home: &HomeAuthority,
        text: &str,
        now: Timestamp,
    ) -> Result<AuthContext, AccessError> {
        home.check()?;
        if home.is_replica_behind() {
            return home.authenticate(text).await;
        }
        match self.verify(text, now).await {
            Err(AccessError::Invalid) if is_well_formed(text) => home.authenticate(text).await,
            // The replica has cancelled the query to replay a change, or is unavailable.
            Err(AccessError::Store(error)) if error.is_retryable() => home.authenticate(text).await,
            verified => verified,
        }
    }

    /// Checks that the credential of a caller is still valid, and returns the caller with its present
    /// end.
    pub async fn check_caller(&self, caller: AuthContext) -> Result<AuthContext, AccessError> {
        match self.check_status(&caller).await? {
            CredentialStatus::Valid { ends_at } => Ok(AuthContext { ends_at, ..caller }),
            CredentialStatus::Revoked => Err(AccessError::Invalid),
            CredentialStatus::Expired => Err(AccessError::Expired),
        }
    }

    /// Records uses of credentials in a far region.
    pub fn record_uses(&self, uses: &[(CredentialId, Timestamp)]) {
        for (credential, at) in uses {
            self.last_used.record(credential, *at);
        }
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
            Some(AuthContext::of_key(key, secret.digest(), verified.until))
        });
        verified.ok_or(AccessError::Invalid)
    }

    /// Watches the credential of an open socket or stream.
    pub fn watch_credential(self: &Arc<Self>, auth_context: Arc<AuthContext>) -> CredentialWatch {
        let changes = self.changes.subscribe();
        CredentialWatch::new(Arc::clone(self), auth_context, changes, self.now())
    }

    /// Checks the current status of a credential, without its secret or token. The result is shared
    /// with other connections of the same credential that reach the same agents until the access version
    /// changes.
    pub async fn check_status(
        &self,
        auth_context: &AuthContext,
    ) -> Result<CredentialStatus, AccessError> {
        let check = self.read_status(auth_context);
        let status = if self.is_current() {
            let generation = self.cache.generation();
            self.statuses
                .get_or_check(auth_context, generation, check)
                .await?
        } else {
            check.await?
        };
        Ok(status.at(self.now(), auth_context))
    }

    async fn read_status(
        &self,
        auth_context: &AuthContext,
    ) -> Result<CredentialStatus, AccessError> {
        if let Some(home) = self.home.as_ref().filter(|home| home.is_replica_behind()) {
            return home.check_status(auth_context).await;
        }
        match &*auth_context.source {
            CredentialSource::Key { id, digest } => {
                let found = self.credentials.find(CredentialKind::Key, id).await?;
                let reached = &auth_context.principal.agents;
                let (found, now) = (found.as_ref(), self.now());
                Ok(CredentialStatus::of_key(found, digest, reached, now))
            }
            CredentialSource::OwnToken {
                id,
                client,
                signing_key,
            } => {
                let tokens = self.own_tokens();
                let client = (CredentialKind::Client, client);
                let found = tokens.check_status(*id, client, signing_key, auth_context);
                found.await
            }
            CredentialSource::UserToken {
                id,
                issuer_kind,
                issuer,
                signing_key,
                generation,
            } => {
                let tokens = self.own_tokens();
                let user = &auth_context.principal;
                if !tokens.is_current_generation(user, *generation).await? {
                    return Ok(CredentialStatus::Revoked);
                }
                let issuer = (*issuer_kind, issuer);
                let found = tokens.check_status(*id, issuer, signing_key, auth_context);
                found.await
            }
            CredentialSource::ExternalToken => Ok(CredentialStatus::Valid {
                ends_at: auth_context.ends_at,
            }),
        }
    }

    /// The tokens of this service.
    pub(crate) fn own_tokens(&self) -> &OwnTokens {
        self.tokens.own()
    }

    /// Returns the time for which access goes on unless the home region sends a report; `None` for as long as
    /// this region is the home region.
    pub(crate) fn access_left(&self) -> Option<Duration> {
        self.home.as_ref().map(|home| home.access_left())
    }

    /// Returns false in a far region whose replica cannot be read.
    pub fn is_replica_readable(&self) -> bool {
        let home = self.home.as_ref();
        home.is_none_or(|home| home.is_replica_readable())
    }

    /// The current time of day.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns true if the access version was read within the last seconds, so that the cache is
    /// current.
    fn is_current(&self) -> bool {
        let until = Duration::from_millis(self.current_until.load(Ordering::Acquire));
        self.clock.running_for() < until
    }
}

/// Returns whether a text can be a credential that the home region knows.
fn is_well_formed(text: &str) -> bool {
    let is_token = text.bytes().filter(|byte| *byte == b'.').count() == 2;
    is_token || CredentialSecret::parse(CredentialKind::Key, text).is_ok()
}
