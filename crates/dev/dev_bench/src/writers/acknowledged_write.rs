//! Acknowledged writes, and the events that each must have in the log.

use std::time::Instant;

/// A write that the service has acknowledged.
#[derive(Debug, Clone)]
pub(super) struct AcknowledgedWrite {
    /// The name of the operation.
    pub(super) operation: &'static str,
    /// The events of the write: consecutive, in this order.
    pub(super) events: Vec<EventName>,
    pub(super) sent_at: Instant,
    pub(super) acknowledged_at: Instant,
}

/// Identifies an event without its position: the nth of its type and subject, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct EventName {
    pub(super) kind: String,
    pub(super) subject: String,
    pub(super) nth: usize,
}

impl EventName {
    /// The only event of its type and subject.
    pub(super) fn only(kind: &str, subject: &str) -> Self {
        Self::nth(kind, subject, 0)
    }

    /// The nth event of its type and subject.
    pub(super) fn nth(kind: &str, subject: &str, nth: usize) -> Self {
        Self {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            nth,
        }
    }
}
