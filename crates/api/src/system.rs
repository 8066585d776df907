//! The real clock and the real source of ids. No other code reads the system's time or randomness.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use domain::Timestamp;
use parking_lot::Mutex;
use ports::{Clock, IdSource};
use uuid::{ContextV7, Uuid};

/// The minimum step in milliseconds that counts as a jump of the clock, and not as a correction.
const JUMP_MS: u64 = 1_000;
/// The maximum time between the readings of the two clocks that are compared.
const MAX_READING_TIME: Duration = Duration::from_millis(100);

/// The computer's clock. A jump of the time of day is logged once.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    /// Milliseconds from the monotonic time to the time of day, at the last reading.
    offset_ms: AtomicI64,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            offset_ms: AtomicI64::new(time_of_day_ms()),
        }
    }
}

impl SystemClock {
    /// Compares the time of day with the monotonic time. Returns the jump since the last call in
    /// milliseconds, if any; only one of several concurrent callers receives it.
    fn take_jump(&self, time_of_day_ms: i64, running_ms: i64) -> Option<i64> {
        let offset = time_of_day_ms.saturating_sub(running_ms);
        let before = self.offset_ms.load(Ordering::Relaxed);
        let jump = offset.saturating_sub(before);
        let (relaxed, is_jump) = (Ordering::Relaxed, jump.unsigned_abs() > JUMP_MS);
        if offset == before {
            return None;
        }
        let stored = self
            .offset_ms
            .compare_exchange(before, offset, relaxed, relaxed);
        (is_jump && stored.is_ok()).then_some(jump)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let before = self.started.elapsed();
        let now = time_of_day_ms();
        // A thread that was suspended between the two readings would see a jump.
        let is_steady = self.started.elapsed().saturating_sub(before) < MAX_READING_TIME;
        if is_steady && let Some(jump_ms) = self.take_jump(now, milliseconds(before)) {
            tracing::warn!(jump_ms, "the system clock jumped; expiry times follow it");
        }
        Timestamp::from_milliseconds(now)
    }

    fn running_for(&self) -> Duration {
        self.started.elapsed()
    }
}

fn time_of_day_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, milliseconds)
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// `UUIDv7`s that rise within this process, and the operating system's randomness.
#[derive(Default)]
pub struct SystemIds {
    context: Mutex<ContextV7>,
}

impl IdSource for SystemIds {
    fn next_id(&self) -> Uuid {
        let context = self.context.lock();
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
    fn a_jump_back_to_the_right_time_is_reported() {
        let clock = SystemClock::default();
        let beginning = clock.offset_ms.load(Ordering::Relaxed);
        let hour = 3_600_000;
        assert_eq!(clock.take_jump(beginning + 5, 5), None);
        assert_eq!(clock.take_jump(beginning + hour + 10, 10), Some(hour));
        assert_eq!(clock.take_jump(beginning + hour + 20, 20), None);
        assert_eq!(clock.take_jump(beginning + 30, 30), Some(-hour));
        assert_eq!(clock.take_jump(beginning + 540, 40), None, "a correction");
        let (before, now, after) = (time_of_day_ms(), clock.now(), time_of_day_ms());
        assert!((before..=after).contains(&now.milliseconds()));
    }

    #[test]
    fn ids_rise() {
        let ids = SystemIds::default();
        let made: Vec<Uuid> = (0..10_000).map(|_| ids.next_id()).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
