//! How many sockets are open, and why they end.

const ENDED: &str = "sockets_ended";

/// Counts one socket for as long as it lives.
pub(super) struct Meter(());

impl Meter {
    /// One more is open.
    pub(super) fn begin() -> Self {
        open().increment(1.0);
        Self(())
    }

    /// It has ended for this reason.
    pub(super) fn end(self, reason: String) {
        metrics::counter!(ENDED, "reason" => reason).increment(1);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        open().decrement(1.0);
    }
}

fn open() -> metrics::Gauge {
    metrics::gauge!("open_streams", "of" => "sockets")
}
