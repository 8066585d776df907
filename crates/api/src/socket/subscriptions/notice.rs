//! What subscriptions have the client sent.

use application::realtime::FedEvent;
use domain::Seq;

use crate::socket::{
    Overfull,
    frames::{Channel, ResyncReason},
};

/// Something to send to the client.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::socket) enum Notice<'a> {
    /// An event of these channels.
    Event(&'a [Channel], &'a FedEvent),
    /// A replay has come to the present, here.
    CaughtUp(Channel, Seq),
    /// A channel goes on from the end of the log.
    Resync {
        channel: Channel,
        /// The oldest event of the log.
        first: Seq,
        /// Its newest.
        head: Seq,
        reason: ResyncReason,
    },
    /// What a channel follows has been deleted.
    Deleted(Channel),
}

/// What sends to the client.
pub(in crate::socket) type NoticeSink<'a> = &'a mut dyn FnMut(Notice<'_>) -> Result<(), Overfull>;
