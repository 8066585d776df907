//! An event that is serialized once for all its readers.

use std::sync::Arc;

use domain::{Event, EventData, EventType, Seq};
use ports::{EventVisibility, LoggedEvent};

/// An event that is serialized once for all its readers.
#[derive(Debug, Clone, PartialEq)]
pub struct SerializedEvent {
    /// The event, for filters.
    pub logged: LoggedEvent,
    /// The envelope that clients receive: one line of JSON.
    json: Arc<str>,
    /// The same for readers who do not see all of it.
    reduced_json: Option<Arc<str>>,
}

impl From<LoggedEvent> for SerializedEvent {
    fn from(logged: LoggedEvent) -> Self {
        Self {
            json: json(&logged.event),
            reduced_json: reduced_json(&logged.event),
            logged,
        }
    }
}

fn json(event: &Event) -> Arc<str> {
    // Every event can be serialized as JSON.
    serde_json::to_string(event).unwrap_or_default().into()
}

fn reduced_json(event: &Event) -> Option<Arc<str>> {
    let data = event.data.reduced()?;
    Some(json(&Event { data, ..event.clone() }))
}

impl SerializedEvent {
    /// Returns the position of the event.
    pub fn seq(&self) -> Seq {
        self.logged.event.seq
    }

    /// Returns the envelope for a reader that may see the event.
    pub fn json(&self, visibility: &EventVisibility) -> &Arc<str> {
        match &self.reduced_json {
            Some(json) if !visibility.shows_whole(&self.logged.event.data) => json,
            _ => &self.json,
        }
    }

    /// Returns the envelope with everything.
    pub fn whole_json(&self) -> &Arc<str> {
        &self.json
    }

    /// Returns the approximate size in bytes. The text is counted twice: in the JSON and in the
    /// event.
    pub(super) fn weight(&self) -> usize {
        let reduced_json = self.reduced_json.as_ref().map_or(0, |json| json.len());
        size_of::<Self>() + 2 * self.json.len() + reduced_json
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
