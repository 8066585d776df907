//! Time that stands still.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use domain::Timestamp;
use ports::Clock;

/// When tests begin, in seconds since 1970.
pub(crate) const NOON: i64 = 1_795_176_000;

/// A clock that a test sets. It begins at [`NOON`].
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    pub(crate) fn new() -> Self {
        Self(AtomicI64::new(NOON * 1_000))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let milliseconds = i64::try_from(by.as_millis()).unwrap();
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_milliseconds(self.0.load(Ordering::SeqCst))
    }
}
