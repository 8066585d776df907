//! The event log: every change is one event, numbered without gaps in each tenant.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    Agent, AgentId, Conversation, ConversationId, Message, MessageId, PrincipalId, Role, TenantId,
    Timestamp, ToolCall, Turn, TurnId,
    sizes::{EVENT_MESSAGE_BYTES, EVENT_TOOL_BYTES},
    tool_call::json_bytes,
};

/// A position in a tenant's log: 1, 2, 3 …, in the order of commits. 0 is before all events.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Seq(pub i64);

impl Seq {
    /// Returns the position `count` after this one.
    #[must_use]
    pub const fn plus(self, count: i64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

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

/// The record of one change, as clients receive it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The event's position in the tenant's log.
    pub seq: Seq,
    /// The event's id; the same in every copy of it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub id: Uuid,
    /// The kind of change.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// The time of the change.
    pub time: Timestamp,
    /// The tenant of the change.
    pub tenant_id: TenantId,
    /// The agent that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub agent_id: Option<AgentId>,
    /// The conversation that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub conversation_id: Option<ConversationId>,
    /// The user that the conversation belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub user_id: Option<String>,
    /// The turn that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub turn_id: Option<TurnId>,
    /// The principal that made the change.
    pub actor: PrincipalId,
    /// The state after the change.
    pub data: EventData,
}

/// Computes the id of the event at `seq`: a UUIDv7 derived from the position, so that it is the
/// same wherever it is computed and need not be stored.
pub fn event_id(tenant: &TenantId, seq: Seq, time: Timestamp) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(tenant.as_str());
    hash.update([0]);
    hash.update(seq.0.to_be_bytes());
    let mut random = [0; 10];
    random.copy_from_slice(&hash.finalize()[..10]);
    let milliseconds = u64::try_from(time.milliseconds()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "short-lived, and most are turns")]
pub enum EventData {
    /// The subject of the event has been deleted since.
    #[cfg_attr(feature = "schema", schema(title = "DeletedEventData"))]
    Deleted {
        /// Always true.
        deleted: bool,
    },
    /// The content of `turn.*`.
    #[cfg_attr(feature = "schema", schema(title = "TurnEventData"))]
    Turn {
        /// The turn, as the event's type describes it.
        turn: Turn,
        /// The message of the event: the user's at the start, the agent's at the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<EventMessage>,
        /// True if parts larger than 32 KiB are omitted from `turn`: its `input` is then empty, its
        /// `reply` null, or, which count together, the `arguments` of its `toolCalls` are `{}` and
        /// their `result` is null. Read the turn to get them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        omitted: bool,
    },
    /// The content of `messages.superseded`: these messages are no longer part of the conversation.
    #[cfg_attr(feature = "schema", schema(title = "MessagesSupersededEventData"))]
    #[serde(rename_all = "camelCase")]
    MessagesSuperseded {
        /// The `seq` of the first superseded message.
        from_seq: i64,
        /// The `seq` of the last superseded message.
        to_seq: i64,
        /// The turn that replaces them.
        turn_id: TurnId,
    },
    /// The content of `agent.created` and `agent.updated`.
    #[cfg_attr(feature = "schema", schema(title = "AgentEventData"))]
    Agent {
        /// The agent after the change.
        agent: Agent,
    },
    /// The content of `agent.deleted`.
    #[cfg_attr(feature = "schema", schema(title = "AgentDeletedEventData"))]
    AgentDeleted {
        /// The id and last version of the agent.
        agent: Tombstone<AgentId>,
    },
    /// The content of `conversation.created` and `conversation.updated`.
    #[cfg_attr(feature = "schema", schema(title = "ConversationEventData"))]
    Conversation {
        /// The conversation in its state when the log is read.
        conversation: Conversation,
        /// The greeting, if the conversation was created with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        greeting: Option<Message>,
    },
    /// The content of `conversation.deleted`.
    #[cfg_attr(feature = "schema", schema(title = "ConversationDeletedEventData"))]
    ConversationDeleted {
        /// The id and last version of the conversation.
        conversation: Tombstone<ConversationId>,
    },
}

impl EventData {
    /// The content of events whose subject has been deleted since.
    pub const DELETED: Self = Self::Deleted { deleted: true };

    /// Creates the content of a turn's event. Parts that are too large for an event are omitted.
    pub fn turn(mut turn: Turn, message: Option<Message>) -> Self {
        let is_large = |text: &str| text.len() > EVENT_MESSAGE_BYTES;
        let large_input = is_large(&turn.input);
        let large_reply = turn
            .reply
            .as_ref()
            .is_some_and(|reply| is_large(&reply.content));
        if large_input {
            turn.input.clear();
        }
        if large_reply {
            turn.reply = None;
        }
        let large_tool_data = omit_large_tool_data(&mut turn.tool_calls);
        Self::Turn {
            turn,
            message: message.map(EventMessage::from),
            omitted: large_input || large_reply || large_tool_data,
        }
    }
}

/// Omits the arguments and results of a turn's calls if they are too large for an event. Returns
/// `true` if it did.
pub fn omit_large_tool_data(calls: &mut [ToolCall]) -> bool {
    let bytes = calls.iter().map(|call| {
        let result = call.result.as_ref().map_or(0, String::len);
        json_bytes(&call.arguments) + result
    });
    let are_large = bytes.sum::<usize>() > EVENT_TOOL_BYTES;
    if are_large {
        for call in calls {
            call.arguments = ToolCall::omitted_arguments();
            call.result = None;
        }
    }
    are_large
}

/// The id and version of a deleted resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Tombstone<Id> {
    /// The resource's id.
    pub id: Id,
    /// The resource's last version.
    pub version: i64,
}

/// A message in an event. A message above 32 KiB is omitted and can be read from its turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum EventMessage {
    /// The whole message.
    Whole(Message),
    /// A message that was too large for an event.
    #[serde(rename_all = "camelCase")]
    #[cfg_attr(feature = "schema", schema(title = "OmittedMessage"))]
    Omitted {
        /// The message's id.
        id: MessageId,
        /// The conversation of the message.
        conversation_id: ConversationId,
        /// The turn of the message.
        turn_id: Option<TurnId>,
        /// The message's position in the conversation.
        seq: i64,
        /// The author of the message.
        role: Role,
        /// Always true.
        omitted: bool,
    },
}

impl From<Message> for EventMessage {
    fn from(message: Message) -> Self {
        if message.content.len() <= EVENT_MESSAGE_BYTES {
            return Self::Whole(message);
        }
        Self::Omitted {
            id: message.id,
            conversation_id: message.conversation_id,
            turn_id: message.turn_id,
            seq: message.seq,
            role: message.role,
            omitted: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_is_derived_from_its_position() {
        let tenant: TenantId = "default".parse().unwrap();
        let time = Timestamp::from_milliseconds(1_795_167_000_020);
        let id = event_id(&tenant, Seq(7), time);
        assert_eq!(id, event_id(&tenant, Seq(7), time));
        assert_ne!(id, event_id(&tenant, Seq(8), time));
        assert_eq!(id.get_version_num(), 7);
    }

    #[test]
    fn every_type_is_parsed() {
        for kind in EventType::ALL {
            assert_eq!(EventType::parse(kind.as_str()), Some(*kind));
        }
    }
}
