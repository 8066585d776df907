//! An event on its way to many readers.

use std::sync::Arc;

use domain::{Event, EventData, EventType, Seq};
use ports::LoggedEvent;

/// An event on its way to many readers, written out once for all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SerializedEvent {
    /// The event, for those who choose by it.
    pub logged: LoggedEvent,
    /// The envelope as clients read it: one line of JSON.
    pub json: Arc<str>,
}

impl From<LoggedEvent> for SerializedEvent {
    fn from(logged: LoggedEvent) -> Self {
        // Nothing of an event refuses to be JSON.
        let json = serde_json::to_string(&logged.event).unwrap_or_default();
        Self {
            logged,
            json: json.into(),
        }
    }
}

impl SerializedEvent {
    /// Its position.
    pub fn seq(&self) -> Seq {
        self.logged.event.seq
    }

    /// About how many bytes it takes: its text stands in it twice, as JSON and as what that was
    /// written from.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + 2 * self.json.len()
    }

    /// Whether a deletion takes away what this event shows. It is what a page of the store would
    /// show of it now: no more than that there was something.
    pub(super) fn is_emptied_by(&self, deletion: &Event) -> bool {
        let event = &self.logged.event;
        match deletion.kind {
            EventType::AgentDeleted => {
                event.kind != EventType::AgentDeleted && event.agent_id == deletion.agent_id
            }
            EventType::ConversationDeleted => {
                event.kind != EventType::ConversationDeleted
                    && event.conversation_id.is_some()
                    && event.conversation_id == deletion.conversation_id
            }
            _ => false,
        }
    }

    /// The event without what it showed.
    pub(super) fn emptied(&self) -> Self {
        let mut logged = self.logged.clone();
        logged.event.data = EventData::DELETED;
        logged.into()
    }
}
