//! Time.

use std::time::Duration;

use domain::Timestamp;

/// The source of time, so that tests are exact.
pub trait Clock: Send + Sync {
    /// The time of day. It can be set at any moment, backwards too: no duration and no order may
    /// be derived from it.
    fn now(&self) -> Timestamp;

    /// The monotonic time since the clock was made. MUST advance evenly when the time of day is
    /// set: ages, pauses and periods of trust are measured by it.
    fn running_for(&self) -> Duration;
}
