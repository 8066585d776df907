//! A slice of processor time.

use std::time::{Duration, Instant};

/// The end of the time for which a piece of work may hold its thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    /// `None` is an end that the clock cannot express: never.
    end: Option<Instant>,
}

impl Slice {
    /// A slice that begins now.
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            end: Instant::now().checked_add(length),
        }
    }

    /// Returns whether the work must pause.
    pub(crate) fn is_over(self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}
