//! Chance that can be had again.

use std::{ops::Range, time::Duration};

/// A row of numbers that look like chance; the same seed gives the same row (`SplitMix64`).
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// The row of this seed.
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

    /// A number in a range that is not empty.
    pub(super) fn number(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// So many milliseconds.
    pub(super) fn milliseconds(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.number(range))
    }

    /// Whether one of so many cases is this one.
    pub(super) fn is_one_in(&mut self, cases: u64) -> bool {
        self.number(0..cases) == 0
    }

    /// One of these, which are not none.
    pub(super) fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        let last = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let place = usize::try_from(self.number(0..last)).unwrap_or(0);
        &items[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_row_within_the_range() {
        let row = |seed| -> Vec<u64> {
            let mut chance = Chance::new(seed);
            (0..50).map(|_| chance.number(3..10)).collect()
        };
        assert_eq!(row(1), row(1));
        assert_ne!(row(1), row(2));
        assert!(row(1).iter().all(|number| (3..10).contains(number)));
    }

    #[test]
    fn picks_each_item_sometimes() {
        let mut chance = Chance::new(7);
        let picked: Vec<u8> = (0..50).map(|_| *chance.pick(&[1, 2, 3])).collect();
        assert!([1, 2, 3].iter().all(|item| picked.contains(item)));
    }
}
