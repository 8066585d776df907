//! Outcomes of writes.

use domain::{IdempotencyRecord, Seq};

/// A committed change: the positions of its events in the tenant's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The position of its first event.
    pub first: Seq,
    /// The position of its last event. All events between belong to the same change.
    pub last: Seq,
}

impl Committed {
    /// Returns the position of a change with one event.
    pub const fn at(seq: Seq) -> Self {
        Self {
            first: seq,
            last: seq,
        }
    }
}

/// The outcome of a write that may have an idempotency entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Idempotent<T> {
    /// The write was applied, and its entry was recorded in the same transaction.
    Applied(T),
    /// Nothing was written: the key was used before, by the same command or another.
    Replayed(IdempotencyRecord),
}

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The resource was deleted.
    Deleted(Committed),
    /// No resource with this id exists.
    NotFound,
}
