//! An event that is serialized once for all its readers.

use std::sync::Arc;

use domain::{Audience, Event, EventData, EventType, Seq};
use ports::LoggedEvent;

/// An event that is serialized once for all its readers.
#[derive(Debug, Clone, PartialEq)]
pub struct SerializedEvent {
    /// The event, for filters.
    pub logged: LoggedEvent,
    /// The envelope that clients receive: one line of JSON.
    json: Arc<str>,
    /// The same for users, if they see less.
    user_json: Option<Arc<str>>,
}

impl From<LoggedEvent> for SerializedEvent {
    fn from(logged: LoggedEvent) -> Self {
        Self {
            json: json(&logged.event),
            user_json: user_json(&logged.event),
            logged,
        }
    }
}

fn json(event: &Event) -> Arc<str> {
    // Every event can be serialized as JSON.
    serde_json::to_string(event).unwrap_or_default().into()
}

fn user_json(event: &Event) -> Option<Arc<str>> {
    // Most events have no tool calls, and are not copied.
    if !event.data.has_tool_calls() {
        return None;
    }
    let mut shown = event.clone();
    shown.data.show_to(Audience::User).then(|| json(&shown))
}

impl SerializedEvent {
    /// Returns the position of the event.
    pub fn seq(&self) -> Seq {
        self.logged.event.seq
    }

    /// Returns the envelope for an audience.
    pub fn json(&self, audience: Audience) -> &Arc<str> {
        match (audience, &self.user_json) {
            (Audience::User, Some(json)) => json,
            (Audience::User, None) | (Audience::Staff, _) => &self.json,
        }
    }

    /// Returns the approximate size in bytes. The text is counted twice: in the JSON and in the
    /// event.
    pub(super) fn weight(&self) -> usize {
        let user_json = self.user_json.as_ref().map_or(0, |json| json.len());
        size_of::<Self>() + 2 * self.json.len() + user_json
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
