//! A slice of processor time.

use std::time::{Duration, Instant};

/// The end of the time for which a piece of work may hold its thread.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// `None` is an end that the clock cannot express: never.
    end: Option<Instant>,
}

impl Slice {
    /// A slice that begins now.
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
