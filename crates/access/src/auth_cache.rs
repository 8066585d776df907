//! A cache of recently authenticated credentials.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ports::Clock;
use quick_cache::{
    DefaultHashBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

use super::{AuthContext, presented_credential::Fingerprint};
use application::cache::weight;

/// The time for which a verified credential is trusted without another read of the store.
const TRUSTED_FOR: Duration = Duration::from_secs(30);
/// The time for which a credential counts as recently valid, although it must be verified again.
const KNOWN_FOR: Duration = Duration::from_mins(10);
/// The maximum size of the cache, in bytes.
const BYTES: u64 = 16 * 1024 * 1024;
/// The number of credentials that usually fits into the cache.
const EXPECTED: usize = 10_000;

#[derive(Clone)]
struct Remembered {
    entrant: Arc<AuthContext>,
    /// The time of the entry on `Clock::running_for`, which changes of the time of day do not
    /// affect.
    since: Duration,
    epoch: Generation,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Fingerprint, Remembered> for ByBytes {
    fn weight(&self, _key: &Fingerprint, remembered: &Remembered) -> u64 {
        let AuthContext {
            principal,
            allowed_origins,
            ..
        } = &*remembered.entrant;
        let origins = allowed_origins
            .iter()
            .map(|origin| size_of::<String>() + origin.len());
        // The principal's id counts twice, because `standing` contains ids too.
        let ids =
            2 * principal.id.as_str().len() + principal.user_id.as_ref().map_or(0, String::len);
        let entry = size_of::<Fingerprint>() + size_of::<Remembered>() + size_of::<AuthContext>();
        (entry + ids + origins.sum::<usize>()) as u64
    }
}

/// The period between two invalidations of the whole cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Generation(u64);

/// A cache of recently authenticated credentials, by fingerprint.
pub(super) struct AuthCache {
    remembered: Cache<Fingerprint, Remembered, ByBytes>,
    epoch: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl AuthCache {
    /// Creates an empty cache.
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let options = weight::bounded(BYTES, EXPECTED);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self {
            remembered: Cache::with_options(options, ByBytes, hasher, lifecycle),
            epoch: AtomicU64::new(0),
            clock,
        }
    }

    /// The current generation. Callers read it before they verify a credential.
    pub(super) fn epoch(&self) -> Generation {
        Generation(self.epoch.load(Ordering::Acquire))
    }

    /// Returns the cached access of a credential, unless the entry is too old or invalidated, or
    /// the credential has ended.
    pub(super) fn get(&self, fingerprint: &Fingerprint) -> Option<Arc<AuthContext>> {
        let remembered = self.remembered.get(fingerprint)?;
        let is_good = self.is_within(&remembered, TRUSTED_FOR) && remembered.epoch == self.epoch();
        is_good.then_some(remembered.entrant)
    }

    /// Returns true if the credential was recently valid and has not been rejected since. Such a
    /// credential is not a guess. Changes of other credentials or a flood from the same address
    /// must therefore not reject it before it is verified again.
    pub(super) fn knows(&self, fingerprint: &Fingerprint) -> bool {
        let remembered = self.remembered.get(fingerprint);
        remembered.is_some_and(|remembered| self.is_within(&remembered, KNOWN_FOR))
    }

    fn is_within(&self, remembered: &Remembered, time: Duration) -> bool {
        self.clock.running_for() < remembered.since + time && !self.has_ended(&remembered.entrant)
    }

    /// Stores the result of a verification that began in `epoch`. If the cache was invalidated
    /// since, the entry is not trusted.
    pub(super) fn keep(
        &self,
        fingerprint: Fingerprint,
        entrant: &Arc<AuthContext>,
        epoch: Generation,
    ) {
        // A token is accepted for a short time after its end, but never from the cache.
        if self.has_ended(entrant) {
            return;
        }
        let remembered = Remembered {
            entrant: Arc::clone(entrant),
            since: self.clock.running_for(),
            epoch,
        };
        self.remembered.insert(fingerprint, remembered);
        weight::report("credentials", self.remembered.weight());
    }

    /// Removes one credential.
    pub(super) fn drop_one(&self, fingerprint: &Fingerprint) {
        self.remembered.remove(fingerprint);
    }

    /// Invalidates all entries, including those of verifications in progress.
    pub(super) fn forget(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    fn has_ended(&self, entrant: &AuthContext) -> bool {
        entrant.ends_at.is_some_and(|end| end <= self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scopes, Timestamp};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const FINGERPRINT: Fingerprint = [7; 32];

    /// A clock with a time of day and a running time that tests set.
    struct HandClock(Mutex<(Timestamp, Duration)>);

    impl HandClock {
        fn forward(&self, day: Duration, running: Duration) {
            let mut time = self.0.lock().unwrap();
            *time = (time.0 + day, time.1 + running);
        }
    }

    impl Clock for HandClock {
        fn now(&self) -> Timestamp {
            self.0.lock().unwrap().0
        }

        fn running_for(&self) -> Duration {
            self.0.lock().unwrap().1
        }
    }

    fn given() -> (AuthCache, Arc<HandClock>) {
        let noon = Timestamp::from_milliseconds(43_200_000);
        let clock = Arc::new(HandClock(Mutex::new((noon, SECOND))));
        (AuthCache::new(clock.clone()), clock)
    }

    fn entrant(ends_at: Option<Timestamp>) -> Arc<AuthContext> {
        Arc::new(AuthContext {
            principal: Principal {
                id: PrincipalId::new("ada"),
                tenant: "default".parse().unwrap(),
                scopes: Scopes::all(),
                user_id: None,
            },
            credential: None,
            standing: CredentialSource::ForeignToken,
            allowed_origins: Vec::new(),
            limits: LimitOverrides::default(),
            ends_at,
        })
    }

    #[test]
    fn remembers_for_thirty_seconds() {
        let (memory, clock) = given();
        memory.keep(FINGERPRINT, &entrant(None), memory.epoch());
        clock.forward(29 * SECOND, 29 * SECOND);
        assert!(memory.get(&FINGERPRINT).is_some());
        assert!(memory.get(&[8; 32]).is_none());
        clock.forward(SECOND, SECOND);
        assert!(memory.get(&FINGERPRINT).is_none());
    }

    #[test]
    fn remembers_no_longer_when_the_time_of_day_is_set_back() {
        let (memory, clock) = given();
        memory.keep(FINGERPRINT, &entrant(None), memory.epoch());
        clock.forward(Duration::ZERO, 30 * SECOND);
        assert!(memory.get(&FINGERPRINT).is_none());
    }

    #[test]
    fn remembers_no_credential_beyond_its_end() {
        let (memory, clock) = given();
        let end = clock.now() + SECOND;
        memory.keep(FINGERPRINT, &entrant(Some(end)), memory.epoch());
        assert!(memory.get(&FINGERPRINT).is_some());
        clock.forward(SECOND, SECOND);
        assert!(memory.get(&FINGERPRINT).is_none());
    }

    #[test]
    fn what_has_ended_takes_no_room() {
        let (memory, clock) = given();
        let ended = entrant(Some(clock.now()));
        memory.keep(FINGERPRINT, &ended, memory.epoch());
        assert_eq!(memory.remembered.len(), 0);
    }

    #[test]
    fn a_look_that_was_begun_before_all_was_forgotten_does_not_count() {
        let (memory, _) = given();
        let before = memory.epoch();
        memory.forget();
        memory.keep(FINGERPRINT, &entrant(None), before);
        assert!(memory.get(&FINGERPRINT).is_none());
        memory.keep(FINGERPRINT, &entrant(None), memory.epoch());
        assert!(memory.get(&FINGERPRINT).is_some());
        memory.forget();
        assert!(memory.get(&FINGERPRINT).is_none());
    }

    #[test]
    fn who_was_good_is_known_until_something_else_is_heard() {
        let (memory, clock) = given();
        assert!(!memory.knows(&FINGERPRINT));
        let end = clock.now() + 300 * SECOND;
        memory.keep(FINGERPRINT, &entrant(Some(end)), memory.epoch());
        memory.forget();
        clock.forward(60 * SECOND, 60 * SECOND);
        assert!(memory.get(&FINGERPRINT).is_none());
        assert!(memory.knows(&FINGERPRINT));
        clock.forward(240 * SECOND, 240 * SECOND);
        assert!(!memory.knows(&FINGERPRINT), "it has ended");
        memory.keep(FINGERPRINT, &entrant(None), memory.epoch());
        memory.drop_one(&FINGERPRINT);
        assert!(!memory.knows(&FINGERPRINT), "it was refused");
        memory.keep(FINGERPRINT, &entrant(None), memory.epoch());
        clock.forward(KNOWN_FOR, KNOWN_FOR);
        assert!(!memory.knows(&FINGERPRINT), "that was long ago");
    }
}
