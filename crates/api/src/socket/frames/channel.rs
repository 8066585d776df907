//! What a socket can follow.

use std::{fmt, str::FromStr};

use application::chat::TurnSubject;
use domain::{AgentId, ConversationId, Event, EventType, ProblemCode};
use serde::{Serialize, Serializer};

use crate::problem::ApiError;

/// Channels that one socket can subscribe to.
pub const MOST_CHANNELS: usize = 128;
/// What a channel's name looks like.
pub const CHANNEL_PATTERN: &str = "^(tenant|agent:.+|conversation:.+)$";
/// The longest name of a channel that is looked at.
const CHANNEL_CHARACTERS: usize = 80;

/// A part of the tenant's log that a socket follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// All that the caller may see.
    Tenant,
    /// What concerns an agent.
    Agent(AgentId),
    /// What concerns a conversation.
    Conversation(ConversationId),
}

/// Why a text names no channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelError {
    /// There is no such kind of channel.
    UnknownKind,
    /// It names an agent by what is no id.
    NoAgent,
    /// It names a conversation by what is no id.
    NoConversation,
}

impl Channel {
    /// Whether an event concerns it.
    pub fn concerns(self, event: &Event) -> bool {
        match self {
            Self::Tenant => true,
            Self::Agent(id) => event.agent_id == Some(id),
            Self::Conversation(id) => event.conversation_id == Some(id),
        }
    }

    /// Whether a turn is of it.
    pub fn concerns_turn(self, turn: &TurnSubject) -> bool {
        match self {
            Self::Tenant => true,
            Self::Agent(id) => turn.agent_id == id,
            Self::Conversation(id) => turn.conversation_id == id,
        }
    }

    /// Whether an event is the end of what it follows.
    pub fn ends_with(self, event: &Event) -> bool {
        let end = match self {
            Self::Tenant => return false,
            Self::Agent(_) => EventType::AgentDeleted,
            Self::Conversation(_) => EventType::ConversationDeleted,
        };
        event.kind == end && self.concerns(event)
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
                "What is followed: `tenant`, `agent:<id>` or `conversation:<id>`.",
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
            // The schema of the frame lets no other kind through.
            ChannelError::UnknownKind => Self::new(ProblemCode::ValidationFailed),
            // A malformed id is an id that nobody has.
            ChannelError::NoAgent => Self::new(ProblemCode::AgentNotFound),
            ChannelError::NoConversation => Self::new(ProblemCode::ConversationNotFound),
        }
    }
}
