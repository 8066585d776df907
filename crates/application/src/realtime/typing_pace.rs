//! The limit on how often typing updates are published.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::{ConversationId, PrincipalId, TenantId};
use ports::Clock;

/// The time within which a repeated update is not published.
const SPAN: Duration = Duration::from_secs(1);

/// A principal and the conversation in which it types.
pub(super) type Typist = (TenantId, ConversationId, PrincipalId);

/// Limits typing updates: a change is published at once, a repetition once a second. Every update
/// wakes all listeners of the tenant.
pub(super) struct TypingPace {
    clock: Arc<dyn Clock>,
    /// The last update of each typist, and its time.
    told: Mutex<HashMap<Typist, (bool, Duration)>>,
}

impl TypingPace {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            told: Mutex::default(),
        }
    }

    /// Returns whether this update is to be published now, and records it as published if so.
    pub(super) fn take(&self, typist: Typist, typing: bool) -> bool {
        let now = self.clock.running_for();
        let is_fresh = |at: Duration| now.saturating_sub(at) < SPAN;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, at)) = told.get(&typist)
            && *last == typing
            && is_fresh(*at)
        {
            return false;
        }
        if told.len() == told.capacity() {
            // Expired entries have no effect any more; they are removed before the map would grow.
            told.retain(|_, (_, at)| is_fresh(*at));
        }
        told.insert(typist, (typing, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[derive(Default)]
    struct HandClock(Mutex<Duration>);

    impl Clock for HandClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_milliseconds(0)
        }

        fn running_for(&self) -> Duration {
            *self.0.lock().unwrap()
        }
    }

    fn typist(number: u128) -> Typist {
        let conversation = ConversationId::new(Uuid::from_u128(number));
        (
            "ours".parse().unwrap(),
            conversation,
            PrincipalId::new("ada"),
        )
    }

    #[test]
    fn the_same_is_told_once_a_second_and_a_change_at_once() {
        let clock = Arc::new(HandClock::default());
        let pace = TypingPace::new(clock.clone());
        let at = |milliseconds, number, typing| {
            *clock.0.lock().unwrap() = Duration::from_millis(milliseconds);
            pace.take(typist(number), typing)
        };
        assert!(at(0, 1, true));
        assert!(!at(999, 1, true));
        assert!(at(999, 2, true), "another conversation");
        assert!(at(1_000, 1, true));
        assert!(at(1_001, 1, false));
        assert!(!at(2_000, 1, false));
        assert!(at(2_001, 1, false));
    }

    #[test]
    fn what_was_told_long_ago_is_forgotten() {
        let clock = Arc::new(HandClock::default());
        let pace = TypingPace::new(clock.clone());
        for number in 0..10_000 {
            *clock.0.lock().unwrap() = Duration::from_millis(100) * u32::try_from(number).unwrap();
            assert!(pace.take(typist(number), true));
        }
        assert!(pace.told.lock().unwrap().len() < 50);
    }
}
