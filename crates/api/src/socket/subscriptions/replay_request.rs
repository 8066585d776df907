//! A replay that a client requests.

use domain::Seq;

/// A replay that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) struct ReplayRequest {
    /// The client's cursor.
    pub(in crate::socket) since: Seq,
    /// The part of the events after a cursor that is replayed.
    pub(in crate::socket) coverage: ReplayAvailability,
}

/// The part of the events after a cursor that is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) enum ReplayAvailability {
    /// All of them.
    Whole,
    /// None: the log does not contain the events after the cursor.
    Expired,
    /// None: more events match than a channel replays.
    TooLong,
}
