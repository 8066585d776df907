//! The reply to a chat message.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, ConversationId, FinishReason, MessageId, Seq, Timestamp, ToolCall, TurnId, Usage,
};

/// The agent's reply, with the ids of its turn and conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatReply {
    /// The text of the reply.
    pub message: String,
    /// The conversation; send it with the next message to continue. Null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The turn.
    pub turn_id: TurnId,
    /// The id of the agent's message.
    pub message_id: MessageId,
    /// The agent that replied.
    pub agent_id: AgentId,
    /// The version of the agent that replied.
    pub agent_version: i64,
    /// The engine that produced the reply.
    pub engine: String,
    /// True if a fallback replied in place of the agent's engine.
    pub degraded: bool,
    /// The reason why the reply ended.
    pub finish_reason: FinishReason,
    /// The token counts, if the engine provides them.
    pub usage: Option<Usage>,
    /// The tool calls of the turn, if it waits for an answer to one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The time at which the reply was stored.
    pub created_at: Timestamp,
    /// A position of the event log at which the turn has ended. Only in the last event of a stream;
    /// absent if nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub seq: Option<Seq>,
}
