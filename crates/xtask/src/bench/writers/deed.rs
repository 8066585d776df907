//! What writers did, and what must be in the log for it.

use std::time::Instant;

/// A change that the service has acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Deed {
    /// What was asked for.
    pub(super) what: &'static str,
    /// The events that it must have written: one after the other, in this order.
    pub(super) events: Vec<EventName>,
    pub(super) asked: Instant,
    pub(super) answered: Instant,
}

/// Names one event without knowing its place: the nth of its type about its subject, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct EventName {
    pub(super) kind: String,
    pub(super) subject: String,
    pub(super) nth: usize,
}

impl EventName {
    /// The only event of its type about its subject.
    pub(super) fn only(kind: &str, subject: &str) -> Self {
        Self::nth(kind, subject, 0)
    }

    /// One of several.
    pub(super) fn nth(kind: &str, subject: &str, nth: usize) -> Self {
        Self {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            nth,
        }
    }
}
