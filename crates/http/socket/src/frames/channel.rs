//! The channels that a socket can subscribe to.

use std::{fmt, str::FromStr};

use application::live_turns::TurnSubject;
use domain::{AgentId, ConversationId, Event, EventType, ProblemCode};
use kit::{body::CHANNEL_PATTERN, problem::ApiError};
use serde::{Serialize, Serializer};

/// The maximum number of channels of one socket.
pub(crate) const MAX_CHANNELS: usize = 128;
/// The maximum length of a channel name, in characters.
const CHANNEL_CHARACTERS: usize = 80;

/// A part of the tenant's log that a socket follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// All events that the caller may see.
    Tenant,
    /// The events of an agent.
    Agent(AgentId),
    /// The events of a conversation.
    Conversation(ConversationId),
}

/// The reason why a text names no channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelError {
    /// The kind of channel is unknown.
    UnknownKind,
    /// The agent's id is malformed.
    NoAgent,
    /// The conversation's id is malformed.
    NoConversation,
}

impl Channel {
    /// Returns whether an event belongs to the channel.
    pub fn matches(self, event: &Event) -> bool {
        match self {
            Self::Tenant => true,
            Self::Agent(id) => event.agent_id == Some(id),
            Self::Conversation(id) => event.conversation_id == Some(id),
        }
    }

    /// Returns whether a turn belongs to the channel.
    pub fn matches_turn(self, turn: &TurnSubject) -> bool {
        match self {
            Self::Tenant => true,
            Self::Agent(id) => turn.agent_id == id,
            Self::Conversation(id) => turn.conversation_id == id,
        }
    }

    /// Returns whether the event deletes the resource of the channel.
    pub fn ends_with(self, event: &Event) -> bool {
        let end = match self {
            Self::Tenant => return false,
            Self::Agent(_) => EventType::AgentDeleted,
            Self::Conversation(_) => EventType::ConversationDeleted,
        };
        event.kind == end && self.matches(event)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tenant => formatter.write_str("tenant"),
            Self::Agent(id) => write!(formatter, "agent:{id}"),
            Self::Conversation(id) => write!(formatter, "conversation:{id}"),
        }
    }
}

impl FromStr for Channel {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, ChannelError> {
        if text == "tenant" {
            return Ok(Self::Tenant);
        }
        match text.split_once(':') {
            Some(("agent", id)) => id
                .parse()
                .map(Self::Agent)
                .map_err(|_malformed| ChannelError::NoAgent),
            Some(("conversation", id)) => id
                .parse()
                .map(Self::Conversation)
                .map_err(|_malformed| ChannelError::NoConversation),
            _ => Err(ChannelError::UnknownKind),
        }
    }
}

impl Serialize for Channel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl utoipa::PartialSchema for Channel {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some(
                "A channel: `tenant`, `agent:<id>` or `conversation:<id>`.",
            ))
            .pattern(Some(CHANNEL_PATTERN))
            .max_length(Some(CHANNEL_CHARACTERS))
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Channel {}

impl From<ChannelError> for ApiError {
    fn from(error: ChannelError) -> Self {
        match error {
            // The schema of the frame rejects other kinds.
            ChannelError::UnknownKind => Self::new(ProblemCode::ValidationFailed),
            // No resource has a malformed id.
            ChannelError::NoAgent => Self::new(ProblemCode::AgentNotFound),
            ChannelError::NoConversation => Self::new(ProblemCode::ConversationNotFound),
        }
    }
}
