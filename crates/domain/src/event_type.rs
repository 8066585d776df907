//! The kinds of changes in the event log.

use serde::{Deserialize, Serialize};

macro_rules! event_types {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)*) => {
        /// The kind of change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum EventType {
            $($(#[doc = $doc])* #[serde(rename = $text)] $name,)*
        }

        impl EventType {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name in stores and in the API.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Parses the name; `None` if it is unknown.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
            }
        }
    };
}

event_types! {
    /// An agent was created.
    AgentCreated = "agent.created",
    /// An agent changed.
    AgentUpdated = "agent.updated",
    /// An agent was deleted, and its conversations with it.
    AgentDeleted = "agent.deleted",
    /// A conversation was created.
    ConversationCreated = "conversation.created",
    /// A conversation's title or metadata changed.
    ConversationUpdated = "conversation.updated",
    /// A conversation was deleted.
    ConversationDeleted = "conversation.deleted",
    /// Messages were replaced: a turn starts from an earlier point of the conversation.
    MessagesSuperseded = "messages.superseded",
    /// A turn waits behind the turn in progress.
    TurnQueued = "turn.queued",
    /// The engine is about to be called.
    TurnStarted = "turn.started",
    /// The reply is stored.
    TurnCompleted = "turn.completed",
    /// A turn ended without a reply.
    TurnFailed = "turn.failed",
    /// A turn was ended by a caller or by a deletion.
    TurnCancelled = "turn.cancelled",
}

// Written by hand: the derive does not see a serde name that a macro inserts.
#[cfg(feature = "schema")]
impl utoipa::PartialSchema for EventType {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("The kind of change."))
            .enum_values(Some(Self::ALL.iter().map(|value| value.as_str())))
            .build()
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for EventType {}

impl EventType {
    /// Returns `true` if the event concerns an agent only.
    pub const fn is_of_agent(self) -> bool {
        matches!(
            self,
            Self::AgentCreated | Self::AgentUpdated | Self::AgentDeleted
        )
    }

    /// Returns `true` if the event is a deletion.
    pub const fn is_deletion(self) -> bool {
        matches!(self, Self::AgentDeleted | Self::ConversationDeleted)
    }

    /// Returns `true` if the event is the end of a turn.
    pub const fn is_end_of_turn(self) -> bool {
        matches!(
            self,
            Self::TurnCompleted | Self::TurnFailed | Self::TurnCancelled
        )
    }

    /// Returns `true` if the event concerns a turn.
    pub const fn is_of_turn(self) -> bool {
        matches!(
            self,
            Self::TurnQueued
                | Self::TurnStarted
                | Self::TurnCompleted
                | Self::TurnFailed
                | Self::TurnCancelled
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_parsed() {
        for kind in EventType::ALL {
            assert_eq!(EventType::parse(kind.as_str()), Some(*kind));
        }
    }
}
