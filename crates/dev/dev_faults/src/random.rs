//! Reproducible random numbers.

use std::{ops::Range, time::Duration};

/// A pseudo-random sequence (`SplitMix64`); the same seed gives the same sequence.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The sequence of this seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in a range that is not empty.
    pub(super) fn number(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// Returns a duration of milliseconds in a range that is not empty.
    pub(super) fn milliseconds(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.number(range))
    }

    /// Returns true in one of `cases` cases.
    pub(super) fn is_one_in(&mut self, cases: u64) -> bool {
        self.number(0..cases) == 0
    }

    /// Returns one of `items`, which must not be empty.
    pub(super) fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        let last = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let turn_ref = usize::try_from(self.number(0..last)).unwrap_or(0);
        &items[turn_ref]
    }
}
