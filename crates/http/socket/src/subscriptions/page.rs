//! Pages of past events.

use std::sync::Arc;

use application::realtime::{EventFilter, SerializedEvent};
use domain::Seq;
use ports::EventVisibility;

use crate::frames::{Channel, ResyncReason};

/// A request for the next page of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRequest {
    /// The key of the subscription.
    pub(super) key: u32,
    pub(crate) channel: Channel,
    /// The position after which events are read.
    pub(crate) since: Seq,
    /// True if too many events match to be replayed.
    pub(crate) is_too_long: bool,
}

impl Channel {
    /// The filter for events of the channel.
    pub(crate) fn filter(self, visibility: &EventVisibility) -> EventFilter {
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

/// The outcome of a page request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Page {
    Events {
        /// The events, oldest first.
        events: Vec<Arc<SerializedEvent>>,
        /// The position from which to continue.
        next: Seq,
        /// True if `next` is the present.
        at_tail: bool,
    },
    /// The events cannot be replayed without a gap.
    Gap {
        /// The position of the oldest event in the log.
        first: Seq,
        /// The position of the newest event.
        head: Seq,
        reason: ResyncReason,
    },
    /// The read failed.
    Failed,
}
