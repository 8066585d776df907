//! Live data of a turn in progress: sent to clients, never stored.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ActionNeeded, AgentId, Approver, Audience, ContinuedCall, ConversationId, MessageId, Timestamp,
    ToolCall, TurnId,
};

/// `turn.started`: the engine is about to be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The id of the user's message.
    pub message_id: MessageId,
    /// The id that the agent's message is going to have; null while staff handles the conversation.
    pub reply_id: Option<MessageId>,
    /// The agent that replies.
    pub agent_id: AgentId,
    /// The version of the agent that replies.
    pub agent_version: i64,
    /// The call of an earlier turn that staff has decided, and whose outcome the turn reports. To users
    /// it does not name the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub continues: Option<ContinuedCall>,
}

impl TurnStarted {
    /// Returns the event as an audience sees it. It shows no calls, so it names none to users.
    #[must_use]
    pub fn shown_to(mut self, audience: Audience) -> Self {
        if let Some(continued) = &mut self.continues {
            continued.show_to(audience, &[]);
        }
        self
    }
}

/// `reply.delta`: more text of a reply. Append it only if `from` equals the length that you have.
/// Positions are in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReplyDelta {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The position in the reply at which the text starts.
    pub from: usize,
    /// The position at which it ends.
    pub to: usize,
    /// The text.
    pub text: String,
    /// The number of the attempt to run the turn, if it is not the first: a process was lost, and another
    /// one goes on. The text of a higher attempt replaces all text of a lower one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub attempt: Option<u32>,
}

/// `reasoning.delta`: more of the model's reasoning, or of a summary of it. Append it only if `from` equals the
/// length that you have; from 0, it replaces all that you have. Positions are in bytes of UTF-8, and end at 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReasoningDelta {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The position in the reasoning at which the text starts.
    pub from: usize,
    /// The position at which it ends.
    pub to: usize,
    /// The text.
    pub text: String,
    /// The number of the attempt to run the turn, as in `reply.delta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub attempt: Option<u32>,
}

impl ReasoningDelta {
    /// Returns the text after a position in the reasoning.
    pub fn after(&self, position: usize) -> &str {
        let known = position.saturating_sub(self.from);
        self.text.get(known..).unwrap_or_default()
    }
}

/// Returns the number of the attempt to run a turn that was resumed so many times; `None` if it is the
/// first.
pub const fn attempt_of(resumptions: u32) -> Option<u32> {
    match resumptions {
        0 => None,
        count => Some(count.saturating_add(1)),
    }
}

/// `tool.called`: the engine calls a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCalled {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The id of the call, unique among all turns.
    pub id: String,
    /// The position in the reply at which the tool was called, in bytes of UTF-8.
    pub at: usize,
    /// The tool's name.
    pub name: String,
    /// The arguments of the call. An empty object replaces arguments that are nested more than 32
    /// levels deep, or with which those of the turn would exceed 1 MiB of JSON. Null if they are not
    /// shown to users.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub arguments: Option<Map<String, Value>>,
    /// What the call waits for, unless it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub needs: Option<ActionNeeded>,
}

impl ToolCalled {
    /// Creates the frame for a call of this turn.
    pub fn of(turn_id: TurnId, conversation_id: Option<ConversationId>, call: &ToolCall) -> Self {
        Self {
            turn_id,
            conversation_id,
            id: call.id.clone(),
            at: call.at,
            name: call.name.clone(),
            arguments: call.arguments.as_object().cloned(),
            needs: call.needs_of_user(),
        }
    }
}

/// `tool.returned`: a call has ended. Calls end in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolReturned {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The id of the call.
    pub id: String,
    /// The position in the reply at which the tool was called, in bytes of UTF-8.
    pub at: usize,
    /// The tool's name.
    pub name: String,
    /// The status, as in the turn: `waiting` if the call waits for staff, which does not hold the turn.
    pub status: String,
    /// The duration in milliseconds.
    pub duration_ms: i64,
    /// The result, or the reason of the failure, as the model receives it. Null if it exceeds
    /// 64 KiB, or 1 MiB together with the other results of the turn, and if it is not shown to users.
    pub result: Option<String>,
    /// While it waits: what it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub needs: Option<ActionNeeded>,
    /// While it waits: who may approve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub approver: Option<Approver>,
    /// While it waits: the time from which it can no longer be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub expires_at: Option<Timestamp>,
}

impl ToolReturned {
    /// Creates the frame for a call of this turn.
    pub fn of(turn_id: TurnId, conversation_id: Option<ConversationId>, call: &ToolCall) -> Self {
        Self {
            turn_id,
            conversation_id,
            id: call.id.clone(),
            at: call.at,
            result: call.result.clone(),
            name: call.name.clone(),
            status: call.status.clone(),
            duration_ms: call.duration_ms,
            needs: call.needs,
            approver: call.approver,
            expires_at: call.expires_at,
        }
    }
}
