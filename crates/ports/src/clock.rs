//! Time.

use domain::Timestamp;

/// Where time comes from, so that tests are exact.
pub trait Clock: Send + Sync {
    /// The present. MUST NOT go backwards within a process.
    fn now(&self) -> Timestamp;
}
