//! The cached key set of one party.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

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
pub const PAUSE_BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// The time for which a caller waits for newer keys while older ones are usable.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time for which a caller waits for keys that are required to verify a token. The fetch may
/// continue longer, for later callers.
const LONG_PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of concurrent fetches of sets named by tenants, for all tenants together. It
/// bounds the resources that slow servers can occupy.
const MOST_FETCHES_FOR_TENANTS: usize = 16;

/// The error for keys that were never fetched, or too long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the keys cannot be had")]
pub struct KeysUnavailable;

/// Creates key sets, and holds the resources that they share.
#[derive(Clone)]
pub struct KeySets {
    documents: Arc<dyn DocumentSource>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    runtime: Handle,
    /// One permit for each concurrent fetch that tenants may cause.
    slots_of_tenants: Arc<Semaphore>,
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
            slots_of_tenants: Arc::new(Semaphore::new(MOST_FETCHES_FOR_TENANTS)),
        }
    }

    /// The key set at a location. The first token starts the first fetch.
    pub fn at(&self, location: KeyLocation, named_by: UrlTrust) -> KeySet {
        KeySet(Arc::new(Inner {
            location,
            named_by,
            common: self.clone(),
            state: Mutex::default(),
        }))
    }
}

/// The key set of one party, cached and fetched again when necessary. Clones share the cache and
/// are cheap.
#[derive(Clone)]
pub struct KeySet(Arc<Inner>);

struct Inner {
    location: KeyLocation,
    named_by: UrlTrust,
    common: KeySets,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    last_attempt: Option<Duration>,
    /// The running fetch, if any. The channel closes when the fetch has ended, with or without
    /// success.
    under_way: Option<Fetch>,
}

type Fetch = watch::Receiver<()>;

#[derive(Clone)]
struct Held {
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
        let mut check = self.keys().await?.prove(token, allowed);
        if check == SignatureCheck::UnknownKey && self.ask_again().await? {
            check = self.keys().await?.prove(token, allowed);
        }
        match check {
            SignatureCheck::Proven(claims) => Ok(Some(claims)),
            SignatureCheck::Refused | SignatureCheck::UnknownKey => Ok(None),
        }
    }

    /// Returns the cached keys, after an attempt to fetch newer ones if they are no longer fresh.
    async fn keys(&self) -> Result<Arc<VerifyingKeys>, KeysUnavailable> {
        match self.held() {
            Some(held) if self.age(&held) < FRESH_FOR => return Ok(held.keys),
            Some(_) => {
                // The caller that starts a fetch waits briefly for new keys. Other callers use the
                // old keys.
                if let Ok(Some(fetch)) = self.start_fetch() {
                    let _ = timeout(PATIENCE, ended(fetch)).await;
                }
            }
            None => {
                self.ask_again().await?;
            }
        }
        self.held().map(|held| held.keys).ok_or(KeysUnavailable)
    }

    /// Waits a short time for the running fetch, or starts one if it is due and waits for that.
    /// Returns false if there was no fetch to wait for.
    async fn ask_again(&self) -> Result<bool, KeysUnavailable> {
        let under_way = self.0.state().running_fetch();
        let fetch = match under_way {
            Some(fetch) => Some(fetch),
            None => self.start_fetch()?,
        };
        let Some(fetch) = fetch else {
            return Ok(false);
        };
        let _ = timeout(LONG_PATIENCE, ended(fetch)).await;
        Ok(true)
    }

    /// The cached keys, unless they are too old to use.
    fn held(&self) -> Option<Held> {
        let held = self.0.state().held.clone();
        held.filter(|held| self.age(held) < USED_FOR)
    }

    fn age(&self, held: &Held) -> Duration {
        self.0.common.clock.running_for().saturating_sub(held.since)
    }

    /// Starts a fetch, unless one is running or the last attempt is too recent. Fails if a fetch is
    /// due but too many others are running; this does not count as an attempt.
    fn start_fetch(&self) -> Result<Option<Fetch>, KeysUnavailable> {
        let mut state = self.0.state();
        let now = self.0.common.clock.running_for();
        let is_due = state
            .last_attempt
            .is_none_or(|last| now.saturating_sub(last) >= PAUSE_BETWEEN_FETCHES);
        if !is_due || state.running_fetch().is_some() {
            return Ok(None);
        }
        let slot = self.0.slot()?;
        state.last_attempt = Some(now);
        let (under_way, fetch) = watch::channel(());
        state.under_way = Some(fetch.clone());
        let inner = Arc::clone(&self.0);
        let task = async move {
            inner.fetch(now).await;
            drop((slot, under_way));
        };
        let common = &self.0.common;
        common.tasks.spawn_on(task, &common.runtime);
        Ok(Some(fetch))
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The permit for a fetch. Sets named by the operator need none.
    fn slot(&self) -> Result<Option<OwnedSemaphorePermit>, KeysUnavailable> {
        match self.named_by {
            UrlTrust::Operator => Ok(None),
            UrlTrust::Tenant => {
                let slots = Arc::clone(&self.common.slots_of_tenants);
                let slot = slots.try_acquire_owned();
                slot.map(Some).map_err(|_none_left| KeysUnavailable)
            }
        }
    }

    async fn fetch(&self, since: Duration) {
        let documents = &*self.common.documents;
        match self.location.fetch(documents, self.named_by).await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                self.state().held = Some(Held { keys, since });
            }
            Err(error) => {
                let error = ports::error::chain(&error);
                tracing::warn!(error, "keys of tokens cannot be fetched");
            }
        }
    }
}

impl State {
    fn running_fetch(&self) -> Option<Fetch> {
        let fetch = self.under_way.clone()?;
        fetch.has_changed().is_ok().then_some(fetch)
    }
}

/// Waits until a fetch has ended.
async fn ended(mut fetch: Fetch) {
    // No value is ever sent; the loop ends when the sender is dropped.
    while fetch.changed().await.is_ok() {}
}
