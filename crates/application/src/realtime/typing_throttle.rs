//! The limit on how often typing updates are published.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{ConversationId, PrincipalId, TenantId};
use parking_lot::Mutex;
use ports::Clock;

/// The time within which a repeated update is not published.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// A principal and the conversation in which it types.
pub(super) type Typist = (TenantId, ConversationId, PrincipalId);

/// Limits typing updates: a change is published at once, a repetition once a second. Every update
/// wakes all listeners of the tenant.
pub(super) struct TypingThrottle {
    clock: Arc<dyn Clock>,
    /// The last update of each typist, and its time.
    published: Mutex<HashMap<Typist, (bool, Duration)>>,
}

impl TypingThrottle {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            published: Mutex::default(),
        }
    }

    /// Returns whether this update is to be published now, and records it as published if so.
    pub(super) fn permit(&self, typist: Typist, typing: bool) -> bool {
        let now = self.clock.running_for();
        let is_recent = |at: Duration| now.saturating_sub(at) < MIN_INTERVAL;
        let mut published = self.published.lock();
        if let Some((last, at)) = published.get(&typist)
            && *last == typing
            && is_recent(*at)
        {
            return false;
        }
        if published.len() == published.capacity() {
            // Expired entries have no effect any more; they are removed before the map would grow.
            published.retain(|_, (_, at)| is_recent(*at));
        }
        published.insert(typist, (typing, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[derive(Default)]
    struct ManualClock(Mutex<Duration>);

    impl Clock for ManualClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_milliseconds(0)
        }

        fn running_for(&self) -> Duration {
            *self.0.lock()
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
    fn a_repetition_is_published_once_a_second_and_a_change_at_once() {
        let clock = Arc::new(ManualClock::default());
        let throttle = TypingThrottle::new(clock.clone());
        let at = |milliseconds, number, typing| {
            *clock.0.lock() = Duration::from_millis(milliseconds);
            throttle.permit(typist(number), typing)
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
    fn expired_entries_are_removed() {
        let clock = Arc::new(ManualClock::default());
        let throttle = TypingThrottle::new(clock.clone());
        for number in 0..10_000 {
            *clock.0.lock() = Duration::from_millis(100) * u32::try_from(number).unwrap();
            assert!(throttle.permit(typist(number), true));
        }
        assert!(throttle.published.lock().len() < 50);
    }
}
