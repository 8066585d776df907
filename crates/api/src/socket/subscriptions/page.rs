//! What subscriptions have read of the past.

use std::sync::Arc;

use application::realtime::{EventFilter, FedEvent};
use domain::Seq;
use ports::EventVisibility;

use crate::socket::frames::{Channel, ResyncReason};

/// What is to be read of the past for a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) struct PageRequest {
    /// Which subscription it is for.
    pub(super) key: u32,
    pub(in crate::socket) channel: Channel,
    /// Events after this position.
    pub(in crate::socket) since: Seq,
    /// There are too many of them to be sent.
    pub(in crate::socket) is_too_long: bool,
}

impl Channel {
    /// The filter that a store chooses by.
    pub(in crate::socket) fn filter(self, visibility: &EventVisibility) -> EventFilter {
        let (agent_id, conversation_id) = match self {
            Self::Tenant => (None, None),
            Self::Agent(id) => (Some(id), None),
            Self::Conversation(id) => (None, Some(id)),
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
    Events {
        /// Oldest first.
        events: Vec<Arc<FedEvent>>,
        /// From where to go on.
        next: Seq,
        /// Whether that is the present.
        at_tail: bool,
    },
    /// They cannot all be sent: the log begins and ends here.
    Gap {
        /// The oldest event.
        first: Seq,
        /// The newest.
        head: Seq,
        reason: ResyncReason,
    },
    /// It could not be read.
    Failed,
}
