//! A quota in the units of the generic cell rate algorithm.

use domain::Quota;

/// Nanoseconds: a duration, or a time since the limiter was created.
pub(crate) type Nanos = i64;

/// Nanoseconds in a second.
pub(crate) const SECOND: Nanos = 1_000_000_000;
/// The maximum time in which a full burst is refilled; the burst is lowered to it. The database adds
/// it to its clock, in nanoseconds since 1970 in 64 bits.
const MAX_REFILL: Nanos = 100 * 365 * 24 * 3_600 * SECOND;
/// The part of a burst that a node takes ahead of need.
const SLICES_PER_BURST: u32 = 10;

/// A quota: one unit per `interval`, up to `burst` at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    /// The time in which one unit is refilled.
    pub(crate) interval: Nanos,
    /// The maximum number of units at once.
    pub(crate) burst: u32,
    /// The maximum number of units that a node takes ahead of need: those of one second, or a tenth
    /// of the burst if that is less, so that few nodes cannot exhaust a burst without using it. At
    /// least one.
    pub(crate) slice: u32,
}

impl Rate {
    pub(crate) fn new(quota: Quota) -> Self {
        let per_minute = quota.per_minute.get();
        let interval = (60 * SECOND / Nanos::from(per_minute)).max(1);
        let burst = Nanos::from(quota.burst.get()).min(MAX_REFILL / interval);
        let burst = u32::try_from(burst).unwrap_or(u32::MAX).max(1);
        let slice = (per_minute / 60).min(burst / SLICES_PER_BURST).max(1);
        Self {
            interval,
            burst,
            slice,
        }
    }

    /// The time in which the units are refilled that `nodes` hold at most, and one more of which the
    /// others may not know yet.
    pub(crate) fn most_held(&self, nodes: u32) -> Nanos {
        let slices = Nanos::from(nodes) + 1;
        let most = self.time(self.slice).saturating_mul(slices);
        most.min(self.time(self.burst))
    }

    /// The time in which this many units are refilled.
    pub(crate) fn time(&self, units: u32) -> Nanos {
        self.interval * Nanos::from(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_a_second_s_worth_but_no_more_than_a_tenth_of_the_burst() {
        for (per_minute, burst, slice) in [
            (600, 100, 10),
            (120, 30, 2),
            (6_000, 100, 10),
            (6_000, 5, 1),
            (1, 1_000, 1),
            (1_000_000, 5_000_000, 16_666),
        ] {
            assert_eq!(Rate::new(Quota::new(per_minute, burst)).slice, slice);
        }
    }

    #[test]
    fn the_longest_refill_can_be_added_to_any_time() {
        for (per_minute, burst) in [(1, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
            let rate = Rate::new(Quota::new(per_minute, burst));
            assert!(rate.time(rate.burst) <= MAX_REFILL && rate.interval > 0);
        }
    }
}
