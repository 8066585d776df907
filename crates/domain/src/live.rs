//! What is told of a turn while it lasts, and stored nowhere.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{AgentId, ConversationId, MessageId, ToolCall, TurnId};

/// `turn.started`: the engine is about to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The user's message.
    pub message_id: MessageId,
    /// Who answers.
    pub agent_id: AgentId,
    /// The version of the agent that answers.
    pub agent_version: i64,
}

/// `reply.delta`: more of a reply. Apply it only when `from` is what you have. Places are counted
/// in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReplyDelta {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// Where the text begins in the reply.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// The text.
    pub text: String,
}

/// `tool.called`: the engine calls a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCalled {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The tool.
    pub name: String,
    /// What it is given. An empty object stands for arguments that are nested more than 32 levels
    /// deep, or with which those of the turn would be more than 1 MiB of JSON.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub arguments: Map<String, Value>,
}

/// `tool.returned`: a call has ended. Calls end in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolReturned {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The tool.
    pub name: String,
    /// How it ended: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
    /// or `too_many`; engines may have others.
    pub status: String,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

impl ToolReturned {
    /// What is told of a call in this turn.
    pub fn of(turn_id: TurnId, conversation_id: ConversationId, call: &ToolCall) -> Self {
        Self {
            turn_id,
            conversation_id,
            name: call.name.clone(),
            status: call.status.clone(),
            duration_ms: call.duration_ms,
        }
    }
}
