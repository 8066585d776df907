//! An event that is serialized once for all its readers.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use domain::{Event, EventData, EventType, Seq};
use ports::{EventVisibility, LoggedEvent};

/// An event that is serialized once for all its readers.
#[derive(Debug, Clone, PartialEq)]
pub struct SerializedEvent {
    /// The event, for filters.
    pub logged: LoggedEvent,
    /// The envelope that clients receive: one line of JSON.
    json: Arc<str>,
    /// The same for readers who do not see all of it, once one of them has read it.
    reduced_json: OnceLock<Option<Arc<str>>>,
    /// The same for the user who has lost the conversation by it, once that user has read it.
    lost_json: OnceLock<Arc<str>>,
}

impl From<LoggedEvent> for SerializedEvent {
    fn from(logged: LoggedEvent) -> Self {
        Self {
            json: json(&logged.event),
            reduced_json: OnceLock::new(),
            lost_json: OnceLock::new(),
            logged,
        }
    }
}

fn json(event: &Event) -> Arc<str> {
    // Every event can be serialized as JSON.
    serde_json::to_string(event).unwrap_or_default().into()
}

impl SerializedEvent {
    /// Returns the position of the event.
    pub fn seq(&self) -> Seq {
        self.logged.event.seq
    }

    /// Returns the envelope for a reader that may see the event.
    pub fn json(&self, visibility: &EventVisibility) -> &Arc<str> {
        let event = &self.logged.event;
        if let Cow::Owned(lost) = visibility.seen(&self.logged) {
            return self.lost_json.get_or_init(|| json(&lost));
        }
        if visibility.shows_whole(event) {
            return &self.json;
        }
        let reduced = || event.reduced().as_ref().map(json);
        let reduced = self.reduced_json.get_or_init(reduced);
        reduced.as_ref().unwrap_or(&self.json)
    }

    /// Returns the envelope with everything.
    pub fn whole_json(&self) -> &Arc<str> {
        &self.json
    }

    /// Returns the approximate size in bytes. The text is counted in the event and in each form of the JSON,
    /// the second of which does not name the actor.
    pub(super) fn weight(&self) -> usize {
        let (event, json) = (&self.logged.event, self.json.len());
        let reduced = if event.may_be_reduced() {
            json.saturating_sub(event.actor.as_str().len())
        } else {
            0
        };
        size_of::<Self>() + 2 * json + reduced
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

    /// Returns the event after the move of its conversation by a later one; `None` if it concerns another
    /// conversation.
    pub(super) fn moved_by(&self, later: &LoggedEvent) -> Option<Self> {
        let event = &self.logged.event;
        let is_of_moved = later.moved.is_some()
            && event.conversation_id.is_some()
            && event.conversation_id == later.event.conversation_id;
        if !is_of_moved {
            return None;
        }
        let mut logged = self.logged.clone();
        logged.event.user_id.clone_from(&later.event.user_id);
        if let EventData::Conversation { conversation, .. } = &mut logged.event.data {
            conversation.user_id.clone_from(&later.event.user_id);
        }
        Some(logged.into())
    }

    /// Returns the event without its data.
    pub(super) fn without_data(&self) -> Self {
        let mut logged = self.logged.clone();
        logged.event.data = EventData::DELETED;
        logged.into()
    }
}
