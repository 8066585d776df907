//! The pauses between attempts to connect.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The pauses between attempts to connect: they double up to five seconds.
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) const fn new() -> Self {
        Self(FIRST)
    }

    pub(crate) const fn reset(&mut self) {
        self.0 = FIRST;
    }

    pub(crate) async fn pause(&mut self) {
        sleep(self.0).await;
        self.0 = LONGEST.min(self.0 * 2);
    }
}
