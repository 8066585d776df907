//! What is said of many measurements.

use std::time::Duration;

/// How long answers took.
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    /// Takes them in any order.
    pub(crate) fn new(mut took: Vec<Duration>) -> Self {
        took.sort_unstable();
        Self(took)
    }

    /// How many there are.
    pub(crate) fn number(&self) -> usize {
        self.0.len()
    }

    /// What so many percent took at most, in milliseconds; 0 when there are none.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let place = last * percent / 100;
        self.0
            .get(place)
            .map_or(0.0, |took| took.as_secs_f64() * 1_000.0)
    }
}

/// The middle of `values`; of an even number the mean of the two in the middle, of none 0.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => 0.0,
        values if values.len() % 2 == 1 => values[middle],
        values => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_latencies() {
        let latencies = Latencies::new((1..=101).rev().map(Duration::from_millis).collect());
        let percentile = |percent| latencies.percentile(percent).round();
        assert!((percentile(50) - 51.0).abs() < 1e-9);
        assert!((percentile(99) - 100.0).abs() < 1e-9);
        assert!((percentile(100) - 101.0).abs() < 1e-9);
    }

    #[test]
    fn the_median_does_not_care_for_outliers() {
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(vec![4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < 1e-9);
        assert!(median(vec![]).abs() < 1e-9);
    }
}
