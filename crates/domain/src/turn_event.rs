//! The events of one turn, as its caller receives them.

use serde::Serialize;

use crate::{
    ChatReply, ConversationId, Problem, ReasoningDelta, ReplyDelta, Seq, ToolCall, ToolCalled,
    ToolReturned, TurnId, TurnStarted,
};

/// The data of `turn.queued` and `turn.cancelled`: the turn and its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnPlace {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// A position of the event log at which the turn has ended; absent before its end, and if nothing
    /// is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub seq: Option<Seq>,
}

/// The data of `turn.failed`: the turn ended without a reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnFailed {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation; null if nothing is stored.
    pub conversation_id: Option<ConversationId>,
    /// The reason.
    pub error: Problem,
    /// A position of the event log at which the turn has ended; absent if nothing is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub seq: Option<Seq>,
}

/// The data of `turn.requires_action`: the turn waits for answers to tool calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TurnRequiresAction {
    /// The turn.
    pub turn_id: TurnId,
    /// Its conversation.
    pub conversation_id: Option<ConversationId>,
    /// The tool calls of the turn. Those with `needs` wait for an answer.
    pub tool_calls: Vec<ToolCall>,
    /// A position of the event log at which the turn waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub seq: Option<Seq>,
}

/// The data of an event in the stream of a chat. `type` is the name of the event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ChatEvent))]
#[serde(tag = "type")]
pub enum TurnEvent {
    /// The turn waits for the turns before it.
    #[serde(rename = "turn.queued")]
    Queued(TurnPlace),
    /// The turn has started, and the engine is about to be called.
    #[serde(rename = "turn.started")]
    Started(TurnStarted),
    /// The next piece of the model's reasoning. Apply it if `from` is the length received so far; from 0, it begins anew.
    #[serde(rename = "reasoning.delta")]
    Reasoning(ReasoningDelta),
    /// The next piece of the reply. Apply it only if `from` is the length of the text received so
    /// far. Offsets are in bytes of UTF-8.
    #[serde(rename = "reply.delta")]
    Delta(ReplyDelta),
    /// The engine calls a tool.
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    /// A tool call has ended. Calls end in the order in which they were made.
    #[serde(rename = "tool.returned")]
    ToolReturned(ToolReturned),
    /// The turn waits for answers to tool calls. The stream ends; that of the answers continues the reply.
    #[serde(rename = "turn.requires_action")]
    RequiresAction(TurnRequiresAction),
    /// The turn goes on, and the reply continues.
    #[serde(rename = "turn.resumed")]
    Resumed(TurnPlace),
    /// The turn is completed; contains the whole reply.
    #[serde(rename = "turn.completed")]
    Completed(ChatReply),
    /// The turn ended without a reply.
    #[serde(rename = "turn.failed")]
    Failed(TurnFailed),
    /// The turn was cancelled.
    #[serde(rename = "turn.cancelled")]
    Cancelled(TurnPlace),
}

impl TurnEvent {
    /// Returns the name of the event.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued(_) => "turn.queued",
            Self::Started(_) => "turn.started",
            Self::Reasoning(_) => "reasoning.delta",
            Self::Delta(_) => "reply.delta",
            Self::ToolCalled(_) => "tool.called",
            Self::ToolReturned(_) => "tool.returned",
            Self::RequiresAction(_) => "turn.requires_action",
            Self::Resumed(_) => "turn.resumed",
            Self::Completed(_) => "turn.completed",
            Self::Failed(_) => "turn.failed",
            Self::Cancelled(_) => "turn.cancelled",
        }
    }

    /// Returns whether no event of the turn follows.
    pub const fn is_last(&self) -> bool {
        matches!(
            self,
            Self::RequiresAction(_) | Self::Completed(_) | Self::Failed(_) | Self::Cancelled(_)
        )
    }
}
