//! A counter of events within a time window.

use std::time::Duration;

use tokio::time::Instant;

/// A count that restarts at zero when its window is over.
pub(crate) struct WindowCount {
    length: Duration,
    since: Option<Instant>,
    count: u32,
}

impl WindowCount {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length,
            since: None,
            count: 0,
        }
    }

    /// Adds one, and returns the count.
    pub(crate) fn add(&mut self) -> u32 {
        if self.since.is_none_or(|since| since.elapsed() > self.length) {
            self.since = Some(Instant::now());
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.count
    }
}
