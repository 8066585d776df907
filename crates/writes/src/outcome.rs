//! Outcomes of commands.

use domain::Seq;

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

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The resource was deleted.
    Deleted(Committed),
    /// No resource with this id exists.
    NotFound,
}
