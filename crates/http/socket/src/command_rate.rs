//! The rate limit for the commands of one socket.

use std::{num::NonZeroU32, time::Duration};

/// The sustained rate of commands.
pub(super) const COMMANDS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// The maximum number of commands in one burst.
pub(super) const COMMAND_BURST: NonZeroU32 = NonZeroU32::new(40).unwrap();
/// The time that one command costs.
const INTERVAL: Duration = Duration::from_millis(1_000 / COMMANDS_PER_SECOND.get() as u64);
/// The burst tolerance: how far the theoretical arrival time may be in the future.
const BURST_TOLERANCE: Duration = INTERVAL.saturating_mul(COMMAND_BURST.get() - 1);

/// The generic cell rate algorithm for the commands of one socket: 20 a second, bursts of 40, in
/// one number. Quotas of principals are separate, because all sockets share them.
#[derive(Debug, Default)]
pub(crate) struct CommandRate {
    /// The theoretical arrival time of the next command.
    theoretical_arrival: Duration,
}

impl CommandRate {
    /// Accepts a command at `now`, on a monotonic clock. A command that arrives too early is
    /// rejected and costs nothing; the error is the time to wait.
    pub(crate) fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let wait = self
            .theoretical_arrival
            .saturating_sub(now)
            .saturating_sub(BURST_TOLERANCE);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.theoretical_arrival = self.theoretical_arrival.max(now) + INTERVAL;
        Ok(())
    }
}

/// The number of rejections in a row after which a socket is closed.
const MAX_REJECTIONS_IN_A_ROW: u32 = 100;
/// The time without a rejection that ends a row.
const ROW_RESET: Duration = Duration::from_secs(1);

/// Counts the rate limit rejections of one socket. A row ends only after one second without a
/// rejection. Accepted commands do not end it: otherwise a flooding client would only have to mix
/// valid commands with the others. A client with occasional bursts starts a new row each time.
#[derive(Debug, Default)]
pub(super) struct RejectionCounter {
    in_a_row: u32,
    last: Duration,
}

impl RejectionCounter {
    /// Records a rejection at `now`, on a monotonic clock. Returns whether the socket must be
    /// closed.
    pub(super) fn record(&mut self, now: Duration) -> bool {
        if now.saturating_sub(self.last) >= ROW_RESET {
            self.in_a_row = 0;
        }
        self.last = now;
        self.in_a_row += 1;
        self.in_a_row >= MAX_REJECTIONS_IN_A_ROW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000);

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    /// Takes commands until one is rejected, and returns their number.
    fn exhaust(rate: &mut CommandRate, now: Duration) -> usize {
        (0..1_000).take_while(|_| rate.take(now).is_ok()).count()
    }

    #[test]
    fn accepts_a_burst_of_forty_and_returns_the_wait_for_the_next() {
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
    fn accepts_twenty_a_second_in_the_long_run() {
        let mut rate = CommandRate::default();
        let results = (0..10_000).map(|millisecond| rate.take(START + milliseconds(millisecond)));
        // A burst of 40, and one each 50 ms from the first on, up to 9,950 ms.
        assert_eq!(results.flatten().count(), 40 + 199);
    }

    #[test]
    fn a_rejected_command_costs_nothing() {
        let mut rate = CommandRate::default();
        exhaust(&mut rate, START);
        for _ in 0..100 {
            assert_eq!(rate.take(START), Err(milliseconds(50)));
        }
    }

    #[test]
    fn the_burst_never_exceeds_forty() {
        let mut rate = CommandRate::default();
        exhaust(&mut rate, START);
        assert_eq!(exhaust(&mut rate, START + milliseconds(500)), 10);
        let next_day = START + Duration::from_hours(24);
        assert_eq!(exhaust(&mut rate, next_day), 40);
    }

    #[test]
    fn the_whole_burst_is_available_when_the_clock_starts() {
        let mut rate = CommandRate::default();
        assert_eq!(exhaust(&mut rate, Duration::ZERO), 40);
    }

    #[test]
    fn the_hundredth_rejection_in_a_row_is_too_many() {
        let mut rejections = RejectionCounter::default();
        for number in 1..100 {
            assert!(
                !rejections.record(START + milliseconds(number * 999)),
                "{number}"
            );
        }
        assert!(rejections.record(START + milliseconds(100 * 999)));
    }

    #[test]
    fn a_quiet_second_ends_the_row() {
        let mut rejections = RejectionCounter::default();
        for burst in 0..100 {
            let now = START + milliseconds(1_000) * burst;
            assert!((0..99).all(|_| !rejections.record(now)), "{burst}");
        }
    }
}
