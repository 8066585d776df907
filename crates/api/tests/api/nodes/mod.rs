//! Two services over one database: ownership and takeover of turns.

mod cancelled;
mod draining;
mod expired_lease;
mod histories;
mod limits;
mod listing;
mod live_replies;
pub(crate) mod pair;
mod queued;
pub(crate) mod racing;
#[cfg(feature = "redis")]
mod redis;
mod signals;
mod unrecorded;
