//! Log lines about the beginning and the end of an outage of the bus.

use std::sync::atomic::{AtomicBool, Ordering};

/// Tells the operator once that signals do not pass, and once that they do again.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    is_told: AtomicBool,
}

impl Outage {
    /// Signals do not pass, for this reason.
    pub(crate) fn begin(&self, reason: &str) {
        if !self.is_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                reason,
                "no signals pass between nodes through the database: events of other nodes reach \
                 clients up to one second late, and their replies whole at the end; each process \
                 needs two connections for LISTEN and pg_notify, directly or through a pooler in \
                 session mode"
            );
        }
    }

    /// A signal of this process has returned, so both directions work.
    pub(crate) fn end(&self) {
        if self.is_told.swap(false, Ordering::Relaxed) {
            tracing::info!("signals pass between nodes again");
        }
    }
}
