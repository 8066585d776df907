//! Time.

use std::time::Duration;

use domain::Timestamp;

/// Where time comes from, so that tests are exact.
pub trait Clock: Send + Sync {
    /// The present. MUST NOT go backwards within a process.
    fn now(&self) -> Timestamp;

    /// How long the clock has been running. MUST go on evenly also when the time of day is set:
    /// periods of trust are measured by it, for `now` stands still while it is ahead.
    fn running_for(&self) -> Duration;
}
