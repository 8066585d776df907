//! Connections whose session became read-only.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The connections that are not reused: those opened before a session rejected a write because it
/// is read-only. Such sessions stay read-only after the database accepts writes again.
#[derive(Debug, Clone)]
pub(super) struct Retired {
    created_at: Instant,
    /// The microseconds from `created_at` to the last rejected write.
    retired_before: Arc<AtomicU64>,
}

impl Default for Retired {
    fn default() -> Self {
        Self {
            created_at: Instant::now(),
            retired_before: Arc::default(),
        }
    }
}

impl Retired {
    fn now(&self) -> u64 {
        u64::try_from(self.created_at.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Includes all connections that are open now.
    pub(super) fn include_all(&self) {
        self.retired_before.fetch_max(self.now(), Ordering::Relaxed);
    }

    /// Returns whether a connection of this age is one of them.
    pub(super) fn includes(&self, age: Duration) -> bool {
        let age = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        self.now().saturating_sub(age) < self.retired_before.load(Ordering::Relaxed)
    }
}
