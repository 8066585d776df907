//! The pauses between attempts to connect.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The pauses between attempts to connect: they double up to five seconds.
#[derive(Debug)]
pub struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

impl Backoff {
    /// Starts with the shortest pause.
    pub const fn new() -> Self {
        Self(FIRST)
    }

    /// Makes the next pause the shortest again.
    pub const fn reset(&mut self) {
        self.0 = FIRST;
    }

    /// Waits for the next pause.
    pub async fn pause(&mut self) {
        sleep(self.0).await;
        self.0 = LONGEST.min(self.0 * 2);
    }
}
