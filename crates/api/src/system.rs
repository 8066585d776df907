//! The real clock and the real source of ids: the one home of both.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use domain::Timestamp;
use ports::{Clock, IdSource};
use uuid::{ContextV7, Uuid};

/// The computer's clock, which never goes backwards within this process.
#[derive(Debug)]
pub struct SystemClock {
    latest: AtomicI64,
    started: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            latest: AtomicI64::new(0),
            started: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is the clock")]
        let elapsed = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        let before = self.latest.fetch_max(now, Ordering::Relaxed);
        Timestamp::from_milliseconds(now.max(before))
    }

    fn running_for(&self) -> Duration {
        self.started.elapsed()
    }
}

/// `UUIDv7`s that rise within this process, and the operating system's randomness.
#[derive(Default)]
pub struct SystemIds {
    context: Mutex<ContextV7>,
}

impl IdSource for SystemIds {
    fn next_id(&self) -> Uuid {
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        Uuid::new_v7(uuid::Timestamp::now(&*context))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        // A process without randomness must not hand out secrets.
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs() {
        let clock = SystemClock::default();
        let (began, before) = (Instant::now(), clock.running_for());
        while clock.running_for() < before + Duration::from_millis(1) {
            assert!(began.elapsed() < Duration::from_secs(5), "it stands still");
        }
        assert!(clock.running_for() <= before + began.elapsed());
    }

    #[test]
    fn ids_rise() {
        let ids = SystemIds::default();
        let made: Vec<Uuid> = (0..10_000).map(|_| ids.next_id()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
