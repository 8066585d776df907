//! What writes answer.

use domain::{IdempotencyRecord, Seq};

/// A change that is committed, and the positions of its events in the tenant's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Position of its first event.
    pub first: Seq,
    /// Position of its last event; the events between are its own too.
    pub last: Seq,
}

/// The outcome of a write that may carry an idempotency claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Once<T> {
    /// It was carried out, and the claim is recorded with it.
    Done(T),
    /// Nothing was written: the key was used before, by this command or another.
    Repeated(IdempotencyRecord),
}

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Deleted(Committed),
    /// There was nothing under this id.
    NotFound,
}
