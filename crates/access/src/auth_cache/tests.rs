use std::sync::Mutex;

use domain::{CredentialSource, LimitOverrides, Principal, PrincipalId, Scopes, Timestamp};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const FINGERPRINT: Fingerprint = [7; 32];

/// A clock with a time of day and a running time that tests set.
struct ManualClock(Mutex<(Timestamp, Duration)>);

impl ManualClock {
    fn forward(&self, day: Duration, running: Duration) {
        let mut time = self.0.lock().unwrap();
        *time = (time.0 + day, time.1 + running);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().0
    }

    fn running_for(&self) -> Duration {
        self.0.lock().unwrap().1
    }
}

fn fixture() -> (AuthCache, Arc<ManualClock>) {
    let noon = Timestamp::from_milliseconds(43_200_000);
    let clock = Arc::new(ManualClock(Mutex::new((noon, SECOND))));
    (AuthCache::new(clock.clone()), clock)
}

fn auth_context(ends_at: Option<Timestamp>) -> Arc<AuthContext> {
    Arc::new(AuthContext {
        principal: Principal {
            id: PrincipalId::new("ada"),
            tenant: "default".parse().unwrap(),
            scopes: Scopes::all(),
            user_id: None,
            agents: domain::AgentReach::ALL,
            names_user: false,
        },
        credential: None,
        source: Arc::new(CredentialSource::ExternalToken),
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        ends_at,
    })
}

#[test]
fn an_entry_is_trusted_for_thirty_seconds() {
    let (cache, clock) = fixture();
    cache.insert(FINGERPRINT, &auth_context(None), cache.generation());
    clock.forward(29 * SECOND, 29 * SECOND);
    assert!(cache.get(&FINGERPRINT).is_some());
    assert!(cache.get(&[8; 32]).is_none());
    clock.forward(SECOND, SECOND);
    assert!(cache.get(&FINGERPRINT).is_none());
}

#[test]
fn an_entry_is_not_trusted_longer_if_the_time_of_day_is_set_back() {
    let (cache, clock) = fixture();
    cache.insert(FINGERPRINT, &auth_context(None), cache.generation());
    clock.forward(Duration::ZERO, 30 * SECOND);
    assert!(cache.get(&FINGERPRINT).is_none());
}

#[test]
fn a_credential_is_not_trusted_after_its_end() {
    let (cache, clock) = fixture();
    let end = clock.now() + SECOND;
    cache.insert(FINGERPRINT, &auth_context(Some(end)), cache.generation());
    assert!(cache.get(&FINGERPRINT).is_some());
    clock.forward(SECOND, SECOND);
    assert!(cache.get(&FINGERPRINT).is_none());
}

#[test]
fn an_expired_credential_is_not_stored() {
    let (cache, clock) = fixture();
    let ended = auth_context(Some(clock.now()));
    cache.insert(FINGERPRINT, &ended, cache.generation());
    assert_eq!(cache.entries.len(), 0);
}

#[test]
fn a_verification_that_began_before_an_invalidation_is_not_trusted() {
    let (cache, _) = fixture();
    let before = cache.generation();
    cache.invalidate_all();
    cache.insert(FINGERPRINT, &auth_context(None), before);
    assert!(cache.get(&FINGERPRINT).is_none());
    cache.insert(FINGERPRINT, &auth_context(None), cache.generation());
    assert!(cache.get(&FINGERPRINT).is_some());
    cache.invalidate_all();
    assert!(cache.get(&FINGERPRINT).is_none());
}

#[test]
fn a_credential_was_recently_valid_until_it_expires_or_is_rejected() {
    let (cache, clock) = fixture();
    assert!(!cache.was_recently_valid(&FINGERPRINT));
    let end = clock.now() + 300 * SECOND;
    cache.insert(FINGERPRINT, &auth_context(Some(end)), cache.generation());
    cache.invalidate_all();
    clock.forward(60 * SECOND, 60 * SECOND);
    assert!(cache.get(&FINGERPRINT).is_none());
    assert!(cache.was_recently_valid(&FINGERPRINT));
    clock.forward(240 * SECOND, 240 * SECOND);
    assert!(!cache.was_recently_valid(&FINGERPRINT), "it has expired");
    cache.insert(FINGERPRINT, &auth_context(None), cache.generation());
    cache.remove(&FINGERPRINT);
    assert!(!cache.was_recently_valid(&FINGERPRINT), "it was rejected");
    cache.insert(FINGERPRINT, &auth_context(None), cache.generation());
    clock.forward(KNOWN_FOR, KNOWN_FOR);
    assert!(!cache.was_recently_valid(&FINGERPRINT), "that was long ago");
}
