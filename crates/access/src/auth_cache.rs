//! A cache of recently authenticated credentials.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use application::cache::weight;
use ports::Clock;
use quick_cache::{
    DefaultHashBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use crate::{AuthContext, presented_credential::Fingerprint};

/// The time for which a verified credential is trusted without another read of the store.
const TRUSTED_FOR: Duration = Duration::from_secs(30);
/// The time for which a credential counts as recently valid, although it must be verified again.
const KNOWN_FOR: Duration = Duration::from_mins(10);
/// The maximum size of the cache, in bytes.
const BYTES: u64 = 16 * 1024 * 1024;
/// The number of credentials that usually fits into the cache.
const EXPECTED: usize = 10_000;

#[derive(Clone)]
struct Entry {
    auth_context: Arc<AuthContext>,
    /// The time of the entry on `Clock::running_for`, which changes of the time of day do not
    /// affect.
    since: Duration,
    generation: Generation,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Fingerprint, Entry> for ByBytes {
    fn weight(&self, _key: &Fingerprint, entry: &Entry) -> u64 {
        let AuthContext {
            principal,
            allowed_origins,
            ..
        } = &*entry.auth_context;
        let origins = allowed_origins
            .iter()
            .map(|origin| size_of::<String>() + origin.len());
        // The principal's id counts twice, because `source` contains ids too.
        let ids =
            2 * principal.id.as_str().len() + principal.user_id.as_ref().map_or(0, String::len);
        let entry = size_of::<Fingerprint>() + size_of::<Entry>() + size_of::<AuthContext>();
        (entry + ids + origins.sum::<usize>()) as u64
    }
}

/// The period between two invalidations of the whole cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Generation(u64);

/// A cache of recently authenticated credentials, by fingerprint.
pub(crate) struct AuthCache {
    entries: Cache<Fingerprint, Entry, ByBytes>,
    generation: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl AuthCache {
    /// Creates an empty cache.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let options = weight::bounded(BYTES, EXPECTED);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self {
            entries: Cache::with_options(options, ByBytes, hasher, lifecycle),
            generation: AtomicU64::new(0),
            clock,
        }
    }

    /// Returns the current generation. Callers read it before they verify a credential.
    pub(crate) fn generation(&self) -> Generation {
        Generation(self.generation.load(Ordering::Acquire))
    }

    /// Returns the cached context of a credential, unless the entry is too old or invalidated, or
    /// the credential has ended.
    pub(crate) fn get(&self, fingerprint: &Fingerprint) -> Option<Arc<AuthContext>> {
        let entry = self.entries.get(fingerprint)?;
        let is_trusted =
            self.is_younger_than(&entry, TRUSTED_FOR) && entry.generation == self.generation();
        is_trusted.then_some(entry.auth_context)
    }

    /// Returns true if the credential was recently valid and has not been rejected since. Such a
    /// credential is not a guess, so a change of other credentials or a flood from the same address
    /// must not reject it before it is verified again.
    pub(crate) fn was_recently_valid(&self, fingerprint: &Fingerprint) -> bool {
        let entry = self.entries.get(fingerprint);
        entry.is_some_and(|entry| self.is_younger_than(&entry, KNOWN_FOR))
    }

    fn is_younger_than(&self, entry: &Entry, age: Duration) -> bool {
        self.clock.running_for() < entry.since + age && !self.has_expired(&entry.auth_context)
    }

    /// Stores the result of a verification that began in `generation`. If the cache was invalidated
    /// since, the entry is not trusted.
    pub(crate) fn insert(
        &self,
        fingerprint: Fingerprint,
        auth_context: &Arc<AuthContext>,
        generation: Generation,
    ) {
        // A token is accepted for a short time after its end, but never from the cache.
        if self.has_expired(auth_context) {
            return;
        }
        let entry = Entry {
            auth_context: Arc::clone(auth_context),
            since: self.clock.running_for(),
            generation,
        };
        self.entries.insert(fingerprint, entry);
        weight::report("credentials", self.entries.weight());
    }

    /// Removes a credential that was rejected.
    pub(crate) fn remove(&self, fingerprint: &Fingerprint) {
        self.entries.remove(fingerprint);
    }

    /// Invalidates all entries, including those of verifications in progress.
    pub(crate) fn invalidate_all(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn has_expired(&self, auth_context: &AuthContext) -> bool {
        auth_context
            .ends_at
            .is_some_and(|end| end <= self.clock.now())
    }
}

#[cfg(test)]
mod tests;
