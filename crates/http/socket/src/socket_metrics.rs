//! Metrics of open and ended sockets.

use metrics::Gauge;

/// Counts one socket while it exists.
pub(super) struct SocketMetrics {
    open: Gauge,
    reason: String,
}

impl SocketMetrics {
    /// Counts one more open socket.
    pub(super) fn start() -> Self {
        let open = metrics::gauge!("open_streams", "of" => "sockets");
        open.increment(1.0);
        // The reason until another one is set.
        let reason = "dropped".to_owned();
        Self { open, reason }
    }

    /// Sets the reason for the end.
    pub(super) fn set_reason(&mut self, reason: String) {
        self.reason = reason;
    }
}

impl Drop for SocketMetrics {
    fn drop(&mut self) {
        self.open.decrement(1.0);
        let reason = std::mem::take(&mut self.reason);
        metrics::counter!("sockets_ended", "reason" => reason).increment(1);
    }
}
