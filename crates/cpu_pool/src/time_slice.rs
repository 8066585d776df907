//! A slice of CPU time.

use std::time::{Duration, Instant};

/// The time limit after which work must release its thread.
#[derive(Debug, Clone, Copy)]
pub struct TimeSlice {
    /// `None` if the clock cannot express the end: the slice never ends.
    end: Option<Instant>,
}

impl TimeSlice {
    /// Creates a slice that starts now.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self {
            end: Instant::now().checked_add(length),
        }
    }

    /// Returns whether the work must pause.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}
