//! How many sockets are open, and why they end.

use metrics::Gauge;

/// Counts one socket for as long as it lives.
pub(super) struct Meter {
    open: Gauge,
    reason: String,
}

impl Meter {
    /// One more is open.
    pub(super) fn begin() -> Self {
        let open = metrics::gauge!("open_streams", "of" => "sockets");
        open.increment(1.0);
        // Unless somebody says otherwise.
        let reason = "dropped".to_owned();
        Self { open, reason }
    }

    /// Notes why it ends.
    pub(super) fn note(&mut self, reason: String) {
        self.reason = reason;
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.open.decrement(1.0);
        let reason = std::mem::take(&mut self.reason);
        metrics::counter!("sockets_ended", "reason" => reason).increment(1);
    }
}
