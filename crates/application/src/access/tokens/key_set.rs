//! The key set of one party, kept in memory.

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
use crate::access::jwt::{
    Claims, SignatureAlgorithm, SignatureCheck, UnverifiedToken, VerifyingKeys,
};

/// How long keys are used without asking again.
const FRESH_FOR: Duration = Duration::from_mins(10);
/// How long keys are used when their owner does not answer.
const USED_FOR: Duration = Duration::from_hours(24);
/// How long after an attempt to fetch keys the next may be made.
pub const PAUSE_BETWEEN_FETCHES: Duration = Duration::from_secs(30);
/// How long a caller waits for newer keys when there are old ones that will do.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a caller waits for keys without which nothing can be said. The fetch may go on longer,
/// for who comes later.
const LONG_PATIENCE: Duration = Duration::from_secs(2);
/// Sets named by tenants that are fetched at the same time, of all tenants: whoever names slow
/// servers must not tie up more.
const MOST_FETCHES_FOR_TENANTS: usize = 16;

/// The keys were never to be had, or too long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the keys cannot be had")]
pub struct KeysUnavailable;

/// Makes key sets: what they all have in common.
#[derive(Clone)]
pub struct KeySets {
    documents: Arc<dyn DocumentSource>,
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
    runtime: Handle,
    /// One for each fetch that a tenant may cause.
    slots_of_tenants: Arc<Semaphore>,
}

impl KeySets {
    /// Key sets that are read from these documents. They are fetched in `tasks` on `runtime`, so
    /// that a fetch goes on when who asked for it has gone.
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

    /// The key set at a place. Nothing is fetched before the first token asks for it.
    pub fn at(&self, location: KeyLocation, named_by: UrlTrust) -> KeySet {
        KeySet(Arc::new(Inner {
            location,
            named_by,
            common: self.clone(),
            state: Mutex::default(),
        }))
    }
}

/// The key set of one party, kept in memory and fetched again when it must be. Cheap to clone: the
/// clones share what they know.
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
    /// Closed when the fetch has ended, in whatever way.
    under_way: Option<Fetch>,
}

type Fetch = watch::Receiver<()>;

#[derive(Clone)]
struct Held {
    keys: Arc<VerifyingKeys>,
    /// When they were asked for, as `Clock::running_for` measures it.
    since: Duration,
}

impl KeySet {
    /// The claims of a token, if a key of the set has signed it by one of the algorithms.
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

    /// The keys, as new as they have to be.
    async fn keys(&self) -> Result<Arc<VerifyingKeys>, KeysUnavailable> {
        match self.held() {
            Some(held) if self.age(&held) < FRESH_FOR => return Ok(held.keys),
            Some(_) => {
                // Who finds a fetch under way takes the old keys; who starts one gives it a chance.
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

    /// Waits for the fetch under way, or for one of its own if that is due, but not for long.
    /// Answers whether there was any.
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

    /// The keys in memory, unless they are too old to be used at all.
    fn held(&self) -> Option<Held> {
        let held = self.0.state().held.clone();
        held.filter(|held| self.age(held) < USED_FOR)
    }

    fn age(&self, held: &Held) -> Duration {
        self.0.common.clock.running_for().saturating_sub(held.since)
    }

    /// Starts a fetch, unless one is under way or the last attempt is too recent. An error when it
    /// is due and too many others are under way: that is no attempt.
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

    /// The right to fetch; nothing is needed for what the operator named.
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
    // Nothing is ever sent: this is the end of the sender.
    while fetch.changed().await.is_ok() {}
}
