//! The notices that subscriptions send to the client.

use application::realtime::SerializedEvent;
use domain::Seq;

use crate::{
    SendQueueFull,
    frames::{Channel, ResyncReason},
};

/// A notice to the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Notice<'a> {
    /// An event, and its channels.
    Event(&'a [Channel], &'a SerializedEvent),
    /// A conversation has moved to another user; no frame of its own.
    Moved(&'a SerializedEvent),
    /// The replay of a channel has reached the present, at this position.
    CaughtUp(Channel, Seq),
    /// A channel continues from the end of the log.
    Resync {
        channel: Channel,
        /// The position of the oldest event in the log.
        first: Seq,
        /// The position of the newest event.
        head: Seq,
        reason: ResyncReason,
    },
    /// The resource of a channel was deleted.
    Deleted(Channel),
}

/// A function that sends notices.
pub(crate) type NoticeSink<'a> = &'a mut dyn FnMut(Notice<'_>) -> Result<(), SendQueueFull>;
