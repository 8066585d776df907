//! Growing pauses between attempts to reach the store.

use std::{mem, time::Duration};

use tokio::time::sleep;

/// The first pause.
const FIRST: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);

/// Pauses between attempts: each is twice as long as the one before, up to two seconds.
pub(crate) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Pauses {
    /// Waits for the next pause.
    pub(crate) async fn wait(&mut self) {
        let longer = (self.next * 2).min(LONGEST);
        sleep(mem::replace(&mut self.next, longer)).await;
    }
}
