//! What subscriptions say to the socket, and what they ask of it.

use std::sync::Arc;

use application::realtime::{EventFilter, FedEvent};
use domain::Seq;
use ports::EventVisibility;

use crate::socket::{
    Overfull,
    frames::{Channel, ResyncReason},
};

/// Something to tell the client.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::socket) enum Word<'a> {
    /// An event of these channels.
    Event(&'a [Channel], &'a FedEvent),
    /// A replay has come to the present, here.
    CaughtUp(Channel, Seq),
    /// A channel goes on from the end of the log.
    Resync {
        /// Which.
        channel: Channel,
        /// The oldest event of the log.
        first: Seq,
        /// Its newest.
        head: Seq,
        /// Why.
        reason: ResyncReason,
    },
    /// What a channel follows has been deleted.
    Deleted(Channel),
}

/// What tells the client.
pub(in crate::socket) type Teller<'a> = &'a mut dyn FnMut(Word<'_>) -> Result<(), Overfull>;

/// What is to be read of the past for a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) struct Wanted {
    /// Which subscription it is for.
    pub(super) key: u32,
    /// Its channel.
    pub(in crate::socket) channel: Channel,
    /// Events after this position.
    pub(in crate::socket) since: Seq,
    /// How many were told before.
    pub(in crate::socket) told: usize,
}

impl Wanted {
    /// The filter that a store chooses by.
    pub(in crate::socket) fn filter(&self, visibility: &EventVisibility) -> EventFilter {
        let (agent_id, conversation_id) = match self.channel {
            Channel::Tenant => (None, None),
            Channel::Agent(id) => (Some(id), None),
            Channel::Conversation(id) => (None, Some(id)),
        };
        EventFilter {
            types: Vec::new(),
            agent_id,
            conversation_id,
            visibility: visibility.clone(),
        }
    }
}

/// What was read of the past.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::socket) enum Page {
    /// Events.
    Events {
        /// Oldest first.
        events: Vec<Arc<FedEvent>>,
        /// From where to go on.
        next: Seq,
        /// Whether that is the present.
        at_tail: bool,
    },
    /// They cannot all be told: the log begins and ends here.
    Gap {
        /// The oldest event.
        first: Seq,
        /// The newest.
        head: Seq,
        /// Why.
        reason: ResyncReason,
    },
    /// It could not be read.
    Failed,
}
