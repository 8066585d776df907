//! A replay that a client requests.

use domain::Seq;

/// A replay that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayRequest {
    /// The client's cursor.
    pub(crate) since: Seq,
    /// The availability of the events after the cursor.
    pub(crate) availability: ReplayAvailability,
}

/// The availability of the events after a cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReplayAvailability {
    /// They are replayed completely.
    #[default]
    Complete,
    /// The cursor is beyond the replica of this region, and exists at home. The replay waits until the
    /// replica has reached it.
    Awaited,
    /// The log no longer contains the events after the cursor.
    Expired,
    /// More events match than a channel replays.
    TooLong,
}
