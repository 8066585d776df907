//! The past events of a channel that a client requests.

use domain::Seq;

/// The past events of a channel that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) struct Past {
    /// The client's cursor.
    pub(in crate::socket) since: Seq,
    /// How much of what comes after the cursor is replayed.
    pub(in crate::socket) coverage: Coverage,
}

/// How much of what comes after a cursor is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) enum Coverage {
    /// All of it.
    Whole,
    /// Nothing: the log does not reach to the cursor.
    Expired,
    /// Nothing: more events match than a channel replays.
    TooLong,
}
