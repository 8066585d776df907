//! The messages of a conversation.

use serde::{Deserialize, Serialize};

use crate::{ConversationId, FinishReason, MessageId, Timestamp, TurnId, Usage};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or a program in its place.
    User,
    /// The agent.
    Agent,
}

impl Role {
    /// Returns the name in stores and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The message's id.
    pub id: MessageId,
    /// The conversation of the message.
    pub conversation_id: ConversationId,
    /// The turn it belongs to; null for a greeting.
    pub turn_id: Option<TurnId>,
    /// The position in the conversation: 1, 2, 3 …
    pub seq: i64,
    /// The author of the message.
    pub role: Role,
    /// The text of the message.
    pub content: String,
    /// The time at which it was stored.
    pub created_at: Timestamp,
    /// On agent messages: the engine that produced the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub engine: Option<String>,
    /// On agent messages: the version of the agent that replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub agent_version: Option<i64>,
    /// On agent messages: the reason why the reply ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub finish_reason: Option<FinishReason>,
    /// The token counts of the reply; null if they are unknown.
    #[serde(default)]
    pub usage: Option<Usage>,
}
