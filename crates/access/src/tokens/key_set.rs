//! The cached key set of an issuer or a client.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use ports::{Clock, DocumentSource, UrlTrust};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::KeyLocation;
use crate::jwt::{Claims, SignatureAlgorithm, SignatureCheck, UnverifiedToken, VerifyingKeys};

/// The time for which keys are used before they are fetched again.
const FRESH_FOR: Duration = Duration::from_mins(10);
/// The time for which keys are used while fetches fail.
const USED_FOR: Duration = Duration::from_hours(24);
/// The minimum time between the starts of two fetches of a set.
pub const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(30);
/// The time for which a caller waits for newer keys while older ones are usable.
const REFRESH_WAIT: Duration = Duration::from_secs(1);
/// The time for which a caller waits for keys that are required to verify a token. The fetch may
/// continue longer, for later callers.
const REQUIRED_WAIT: Duration = Duration::from_secs(2);
/// The maximum number of concurrent fetches of sets named by tenants, for all tenants together. It
/// bounds the resources that slow servers can occupy.
const MAX_TENANT_FETCHES: usize = 16;

/// The error for keys that were never fetched, or too long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the keys are unavailable")]
pub struct KeysUnavailable;

/// Creates key sets, and holds the resources that they share.
#[derive(Clone)]
pub struct KeySets {
    documents: Arc<dyn DocumentSource>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    runtime: Handle,
    /// One permit for each concurrent fetch that tenants may cause.
    tenant_slots: Arc<Semaphore>,
}

impl KeySets {
    /// Creates the shared resources. Fetches run in `tasks` on `runtime`, so that a fetch continues
    /// when its caller is dropped.
    pub fn new(
        documents: Arc<dyn DocumentSource>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
        runtime: Handle,
    ) -> Self {
        Self {
            documents,
            clock,
            tasks,
            runtime,
            tenant_slots: Arc::new(Semaphore::new(MAX_TENANT_FETCHES)),
        }
    }

    /// The key set at a location. The first token starts the first fetch.
    pub fn at(&self, location: KeyLocation, url_trust: UrlTrust) -> KeySet {
        KeySet(Arc::new(Inner {
            location,
            url_trust,
            shared: self.clone(),
            state: Mutex::default(),
        }))
    }
}

/// The key set of an issuer or a client, cached and fetched again when necessary. Clones share the
/// cache and are cheap.
#[derive(Clone)]
pub struct KeySet(Arc<Inner>);

struct Inner {
    location: KeyLocation,
    url_trust: UrlTrust,
    shared: KeySets,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cached: Option<CachedKeys>,
    last_attempt: Option<Duration>,
    /// The running fetch, if any. The channel closes when the fetch has ended, with or without
    /// success.
    running: Option<Fetch>,
}

type Fetch = watch::Receiver<()>;

#[derive(Clone)]
struct CachedKeys {
    keys: Arc<VerifyingKeys>,
    /// The start of the fetch, as measured by `Clock::running_for`.
    since: Duration,
}

impl KeySet {
    /// Returns the claims of a token if a key of the set has signed it with one of the algorithms.
    pub async fn verify(
        &self,
        token: &UnverifiedToken<'_>,
        allowed: &[SignatureAlgorithm],
    ) -> Result<Option<Claims>, KeysUnavailable> {
        let mut check = self.keys().await?.check_signature(token, allowed);
        if check == SignatureCheck::UnknownKey && self.refresh().await? {
            check = self.keys().await?.check_signature(token, allowed);
        }
        match check {
            SignatureCheck::Valid(claims) => Ok(Some(claims)),
            SignatureCheck::Invalid | SignatureCheck::UnknownKey => Ok(None),
        }
    }

    /// Returns the cached keys, after an attempt to fetch newer ones if they are no longer fresh.
    async fn keys(&self) -> Result<Arc<VerifyingKeys>, KeysUnavailable> {
        match self.cached() {
            Some(cached) if self.age(&cached) < FRESH_FOR => return Ok(cached.keys),
            Some(_) => {
                // The caller that starts a fetch waits briefly for new keys. Other callers use the
                // old keys.
                if let Ok(Some(fetch)) = self.start_fetch() {
                    let _ = timeout(REFRESH_WAIT, wait_for_end(fetch)).await;
                }
            }
            None => {
                self.refresh().await?;
            }
        }
        self.cached()
            .map(|cached| cached.keys)
            .ok_or(KeysUnavailable)
    }

    /// Waits a short time for the running fetch, or starts one if it is due and waits for that.
    /// Returns false if there was no fetch to wait for.
    async fn refresh(&self) -> Result<bool, KeysUnavailable> {
        let running = self.0.state().running_fetch();
        let fetch = match running {
            Some(fetch) => Some(fetch),
            None => self.start_fetch()?,
        };
        let Some(fetch) = fetch else {
            return Ok(false);
        };
        let _ = timeout(REQUIRED_WAIT, wait_for_end(fetch)).await;
        Ok(true)
    }

    /// The cached keys, unless they are too old to use.
    fn cached(&self) -> Option<CachedKeys> {
        let cached = self.0.state().cached.clone();
        cached.filter(|cached| self.age(cached) < USED_FOR)
    }

    fn age(&self, cached: &CachedKeys) -> Duration {
        self.0
            .shared
            .clock
            .running_for()
            .saturating_sub(cached.since)
    }

    /// Starts a fetch, unless one is running or the last attempt is too recent. Fails if a fetch is
    /// due but too many others are running; this does not count as an attempt.
    fn start_fetch(&self) -> Result<Option<Fetch>, KeysUnavailable> {
        let mut state = self.0.state();
        let now = self.0.shared.clock.running_for();
        let is_due = state
            .last_attempt
            .is_none_or(|last| now.saturating_sub(last) >= MIN_FETCH_INTERVAL);
        if !is_due || state.running_fetch().is_some() {
            return Ok(None);
        }
        let slot = self.0.slot()?;
        state.last_attempt = Some(now);
        let (ended, fetch) = watch::channel(());
        state.running = Some(fetch.clone());
        let inner = Arc::clone(&self.0);
        let task = async move {
            inner.fetch(now).await;
            drop((slot, ended));
        };
        let shared = &self.0.shared;
        shared.tasks.spawn_on(task, &shared.runtime);
        Ok(Some(fetch))
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The permit for a fetch. Sets named by the operator need none.
    fn slot(&self) -> Result<Option<OwnedSemaphorePermit>, KeysUnavailable> {
        match self.url_trust {
            UrlTrust::Operator => Ok(None),
            UrlTrust::Tenant => {
                let slots = Arc::clone(&self.shared.tenant_slots);
                let slot = slots.try_acquire_owned();
                slot.map(Some).map_err(|_none_left| KeysUnavailable)
            }
        }
    }

    async fn fetch(&self, since: Duration) {
        let documents = &*self.shared.documents;
        match self.location.fetch(documents, self.url_trust).await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                self.state().cached = Some(CachedKeys { keys, since });
            }
            Err(error) => {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, "token signing keys cannot be fetched");
            }
        }
    }
}

impl State {
    fn running_fetch(&self) -> Option<Fetch> {
        let fetch = self.running.clone()?;
        fetch.has_changed().is_ok().then_some(fetch)
    }
}

/// Waits until a fetch has ended.
async fn wait_for_end(mut fetch: Fetch) {
    // No value is ever sent; the loop ends when the sender is dropped.
    while fetch.changed().await.is_ok() {}
}
