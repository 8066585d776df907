//! How fast commands may come on one socket.

use std::{num::NonZeroU32, time::Duration};

/// Commands that come back each second, evenly.
pub(super) const COMMANDS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How many can be saved up and used at once.
pub(super) const COMMANDS_AT_ONCE: NonZeroU32 = NonZeroU32::new(40).unwrap();
/// The time in which one command comes back.
const INTERVAL: Duration = Duration::from_millis(1_000 / COMMANDS_PER_SECOND.get() as u64);
/// How far ahead of the present commands may have used up time, for one more to be taken.
const AHEAD: Duration = INTERVAL.saturating_mul(COMMANDS_AT_ONCE.get() - 1);

/// The generic cell rate algorithm for the commands of one socket: 20 a second, 40 at once, in one
/// number. It stands beside the quotas of principals, which count in a table that all sockets
/// share.
#[derive(Debug, Default)]
pub struct CommandRate {
    /// The time up to which the commands so far have used up time.
    used_up_to: Duration,
}

impl CommandRate {
    /// Takes a command at `now`, by a clock that never goes back. One that comes too fast is not
    /// taken and costs nothing; the error says how long to wait for it.
    pub fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let wait = self.used_up_to.saturating_sub(now).saturating_sub(AHEAD);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.used_up_to = self.used_up_to.max(now) + INTERVAL;
        Ok(())
    }
}

/// After so many refusals in a row a socket is closed.
const MOST_REFUSALS: u32 = 100;
/// A row of refusals ends with so long a time without any.
const QUIET: Duration = Duration::from_secs(1);

/// The refusals of one socket for coming too fast. They stand in one row until a second passes
/// without any: what is taken in between ends nothing, or who floods would only have to send some
/// good ones among the others; and who sends a burst now and then begins anew each time.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    in_a_row: u32,
    last: Duration,
}

impl Refusals {
    /// Notes one more at `now`, by a clock that never goes back. Whether that is too many.
    pub(super) fn note(&mut self, now: Duration) -> bool {
        if now.saturating_sub(self.last) >= QUIET {
            self.in_a_row = 0;
        }
        self.last = now;
        self.in_a_row += 1;
        self.in_a_row >= MOST_REFUSALS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000);

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    /// Takes as many as there are.
    fn exhaust(rate: &mut CommandRate, now: Duration) -> usize {
        (0..1_000).take_while(|_| rate.take(now).is_ok()).count()
    }

    #[test]
    fn takes_forty_at_once_and_tells_the_next_to_wait() {
        let mut rate = CommandRate::default();
        assert_eq!(exhaust(&mut rate, START), 40);
        assert_eq!(rate.take(START), Err(milliseconds(50)));
        let almost = START + Duration::from_nanos(49_999_999);
        assert_eq!(rate.take(almost), Err(Duration::from_nanos(1)));
        assert_eq!(rate.take(START + milliseconds(50)), Ok(()));
        let after = START + milliseconds(60);
        assert_eq!(rate.take(after), Err(milliseconds(40)));
    }

    #[test]
    fn takes_twenty_a_second_in_the_long_run() {
        let mut rate = CommandRate::default();
        let tried = (0..10_000).map(|millisecond| rate.take(START + milliseconds(millisecond)));
        // 40 at once, and one each 50 ms from the first on, up to 9,950 ms.
        assert_eq!(tried.flatten().count(), 40 + 199);
    }

    #[test]
    fn what_is_refused_costs_nothing() {
        let mut rate = CommandRate::default();
        exhaust(&mut rate, START);
        for _ in 0..100 {
            assert_eq!(rate.take(START), Err(milliseconds(50)));
        }
    }

    #[test]
    fn saves_up_no_more_than_forty() {
        let mut rate = CommandRate::default();
        exhaust(&mut rate, START);
        assert_eq!(exhaust(&mut rate, START + milliseconds(500)), 10);
        let next_day = START + Duration::from_hours(24);
        assert_eq!(exhaust(&mut rate, next_day), 40);
    }

    #[test]
    fn begins_with_all_forty_on_a_clock_that_has_just_started() {
        let mut rate = CommandRate::default();
        assert_eq!(exhaust(&mut rate, Duration::ZERO), 40);
    }

    #[test]
    fn the_hundredth_refusal_in_a_row_is_too_many() {
        let mut refusals = Refusals::default();
        for number in 1..100 {
            assert!(
                !refusals.note(START + milliseconds(number * 999)),
                "{number}"
            );
        }
        assert!(refusals.note(START + milliseconds(100 * 999)));
    }

    #[test]
    fn a_quiet_second_ends_the_row() {
        let mut refusals = Refusals::default();
        for burst in 0..100 {
            let now = START + milliseconds(1_000) * burst;
            assert!((0..99).all(|_| !refusals.note(now)), "{burst}");
        }
    }
}
