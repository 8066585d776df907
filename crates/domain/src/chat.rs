//! The reply to a chat message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentId, Audience, ConversationId, FinishReason, MessageId, Seq, Timestamp, ToolCall, TurnId,
    TurnStarted, Usage,
    response_schema::{is_false, present},
    tool_visibility::show_calls,
};

/// The agent's reply, with the ids of its turn and conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChatReply {
    /// The text of the reply; empty while staff handles the conversation.
    pub message: String,
    /// The conversation; send it with the next message to continue. Null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The turn.
    pub turn_id: TurnId,
    /// The id of the agent's message; null without one, while staff handles the conversation.
    pub message_id: Option<MessageId>,
    /// The agent that replied.
    pub agent_id: AgentId,
    /// The version of the agent that replied.
    pub agent_version: i64,
    /// The engine that produced the reply; null without one.
    pub engine: Option<String>,
    /// The model that produced the reply, as its provider names it, or else as it was asked for. Null without one,
    /// if several replied to the requests of the turn, and if nothing names it.
    pub model: Option<String>,
    /// True if a fallback replied in place of the agent's engine.
    pub degraded: bool,
    /// The reason why the reply ended.
    pub finish_reason: FinishReason,
    /// The token counts, if the engine provides them.
    pub usage: Option<Usage>,
    /// The tool calls of the turn, if one of them waits for an answer: the turn waits for that of a user, or of
    /// the page, and is completed before that of staff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The JSON value of a reply that satisfies `responseSchema`; null is a value. Absent without a schema, and
    /// without a complete reply.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Value>))]
    pub output: Option<Value>,
    /// True if the model has had to correct the output; otherwise absent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repaired: bool,
    /// The time at which the reply was stored.
    pub created_at: Timestamp,
    /// A position of the event log at which the turn has ended. Only in the last event of a stream;
    /// absent if nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub seq: Option<Seq>,
}

impl ChatReply {
    /// The reply of a turn that has none, since staff handles its conversation.
    pub fn handed_over(turn: &TurnStarted, tool_calls: &[ToolCall], created_at: Timestamp) -> Self {
        Self {
            message: String::new(),
            conversation_id: turn.conversation_id,
            turn_id: turn.turn_id,
            message_id: None,
            agent_id: turn.agent_id,
            agent_version: turn.agent_version,
            engine: None,
            model: None,
            degraded: false,
            finish_reason: FinishReason::HandedOver,
            usage: None,
            tool_calls: Self::calls_of_turn(tool_calls),
            output: None,
            repaired: false,
            created_at,
            seq: None,
        }
    }

    /// Returns the calls of a turn that its reply contains.
    pub fn calls_of_turn(calls: &[ToolCall]) -> Vec<ToolCall> {
        let is_any_open = calls.iter().any(|call| call.needs.is_some());
        if is_any_open {
            calls.to_vec()
        } else {
            Vec::new()
        }
    }

    /// Returns the reply as an audience sees it: without calls if it sees none that waits.
    #[must_use]
    pub fn shown_to(mut self, audience: Audience) -> Self {
        show_calls(&mut self.tool_calls, audience);
        if self.tool_calls.iter().all(|call| call.needs.is_none()) {
            self.tool_calls.clear();
        }
        self
    }
}
