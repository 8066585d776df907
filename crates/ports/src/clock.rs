//! Time.

use std::time::Duration;

use domain::Timestamp;

/// The source of time; a port, so that tests control it.
pub trait Clock: Send + Sync {
    /// Returns the time of day. It can jump at any moment, also backwards, so durations and orders
    /// MUST NOT be derived from it.
    fn now(&self) -> Timestamp;

    /// Returns the monotonic time since the clock was created. MUST advance evenly even if the time
    /// of day is changed. Ages, delays and cache lifetimes are measured with it.
    fn running_for(&self) -> Duration;
}
