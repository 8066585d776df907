//! Messages: what was said in a conversation.

use serde::{Deserialize, Serialize};

use crate::{ConversationId, FinishReason, MessageId, Timestamp, TurnId, Usage};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or the program in its place.
    User,
    /// The agent.
    Agent,
}

impl Role {
    /// The word that stores and clients read.
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
    /// Names the message.
    pub id: MessageId,
    /// Where it was said.
    pub conversation_id: ConversationId,
    /// The turn it belongs to; null for a greeting.
    pub turn_id: Option<TurnId>,
    /// 1, 2, 3 … inside the conversation.
    pub seq: i64,
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub content: String,
    /// When.
    pub created_at: Timestamp,
    /// On agent messages: the engine that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub engine: Option<String>,
    /// On agent messages: the version of the agent that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub agent_version: Option<i64>,
    /// On agent messages: why the answer ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub finish_reason: Option<FinishReason>,
    /// The tokens that the answer took; null without figures.
    #[serde(default)]
    pub usage: Option<Usage>,
}
