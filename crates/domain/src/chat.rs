//! The answer to a chat.

use serde::{Deserialize, Serialize};

use crate::{AgentId, ConversationId, FinishReason, MessageId, Timestamp, TurnId, Usage};

/// The agent's reply, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatReply {
    /// What the agent says.
    pub message: String,
    /// The conversation; send it back to go on talking.
    pub conversation_id: ConversationId,
    /// The turn.
    pub turn_id: TurnId,
    /// The agent's message.
    pub message_id: MessageId,
    /// Who answered.
    pub agent_id: AgentId,
    /// The version of the agent that answered.
    pub agent_version: i64,
    /// The engine that answered.
    pub engine: String,
    /// Whether a fallback answered in place of the agent's engine.
    pub degraded: bool,
    /// Why the answer ended.
    pub finish_reason: FinishReason,
    /// Tokens, where the engine counts them.
    pub usage: Option<Usage>,
    /// When it was stored.
    pub created_at: Timestamp,
}
