//! An event that is serialized once for all its readers.

use std::sync::Arc;

use domain::{Event, EventData, EventType, Seq};
use ports::LoggedEvent;

/// An event that is serialized once for all its readers.
#[derive(Debug, Clone, PartialEq)]
pub struct SerializedEvent {
    /// The event, for filters.
    pub logged: LoggedEvent,
    /// The envelope that clients receive: one line of JSON.
    pub json: Arc<str>,
}

impl From<LoggedEvent> for SerializedEvent {
    fn from(logged: LoggedEvent) -> Self {
        // Every event can be serialized as JSON.
        let json = serde_json::to_string(&logged.event).unwrap_or_default();
        Self {
            logged,
            json: json.into(),
        }
    }
}

impl SerializedEvent {
    /// Returns the position of the event.
    pub fn seq(&self) -> Seq {
        self.logged.event.seq
    }

    /// Returns the approximate size in bytes. The text is counted twice: in the JSON and in the
    /// event.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + 2 * self.json.len()
    }

    /// Returns whether a deletion removes the data of this event. A page of the store then contains
    /// the event without its data, too.
    pub(super) fn is_deleted_by(&self, deletion: &Event) -> bool {
        let event = &self.logged.event;
        if matches!(event.kind, EventType::Other(_)) {
            // It has none.
            return false;
        }
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

    /// Returns the event without its data.
    pub(super) fn without_data(&self) -> Self {
        let mut logged = self.logged.clone();
        logged.event.data = EventData::DELETED;
        logged.into()
    }
}
