//! Percentiles of latencies, and medians of a few values.

use std::time::Duration;

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;

/// Decimal digits that the histogram keeps of each value.
const SIGNIFICANT_DIGITS: u8 = 3;

/// The distribution of latencies.
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Returns the distribution of `latencies`.
    pub fn new(latencies: impl IntoIterator<Item = Duration>) -> Result<Self> {
        let mut histogram = Histogram::new(SIGNIFICANT_DIGITS).context("no histogram")?;
        for latency in latencies {
            let nanoseconds =
                u64::try_from(latency.as_nanos()).context("a latency of centuries")?;
            histogram.record(nanoseconds).context("no histogram")?;
        }
        Ok(Self(histogram))
    }

    /// The number of latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency in milliseconds that `percent` percent do not exceed; 0 without latencies.
    pub fn percentile(&self, percent: u32) -> f64 {
        let nanoseconds = self.0.value_at_percentile(f64::from(percent));
        Duration::from_nanos(nanoseconds).as_secs_f64() * 1_000.0
    }
}

/// Returns the median of `values`; the mean of the two middle values if their number is even, and 0
/// if there are none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.as_slice() {
        [] => 0.0,
        values if values.len() % 2 == 1 => values[middle],
        values => f64::midpoint(values[middle - 1], values[middle]),
    }
}
