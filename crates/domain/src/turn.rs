//! Turns: one user message and the work of replying to it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{
    AgentId, Audience, ConversationId, FileReference, Message, Problem, Reasoning, Timestamp,
    ToolCall, TurnId, Usage,
    config::Metadata,
    open_enum::{TextVisitor, open_enum},
    reasoning::text_only,
    response_schema::{is_false, present},
    tool_visibility::show_calls,
};

/// The state of a turn. The last three are final, and every turn reaches exactly one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The turn waits behind the turn in progress.
    Queued,
    /// The engine computes the reply.
    InProgress,
    /// The turn waits until its user, or the page, answers a tool call.
    RequiresAction,
    /// The turn has a reply, or needs none since staff handles the conversation.
    Completed,
    /// The turn ended without a reply; `error` has the reason.
    Failed,
    /// The turn was ended by a caller, or with its agent or conversation.
    Cancelled,
}

impl TurnStatus {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::InProgress,
        Self::RequiresAction,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the name in stores and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::RequiresAction => "requires_action",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the status of a stored text that this version knows.
    pub fn known(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Returns the status of a stored text. A turn whose status only a newer version knows is in
    /// progress: it may neither be started nor count as ended.
    pub fn read(text: &str) -> Self {
        Self::known(text).unwrap_or(Self::InProgress)
    }

    /// Returns `true` if the turn has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl<'de> Deserialize<'de> for TurnStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(Self::read))
    }
}

open_enum! {
    /// The reason why a reply ended.
    FinishReason[23] {
        /// The reply is complete.
        Stop = "stop",
        /// The reply reached the maximum length.
        Length = "length",
        /// The provider's filter cut off the reply.
        ContentFilter = "content_filter",
        /// The turn was cancelled; the reply has the text up to then.
        Cancelled = "cancelled",
        /// The turn waits for an answer to a tool call; the reply has the text up to then.
        RequiresAction = "requires_action",
        /// The user continued without an answer; the reply has the text up to then.
        Dismissed = "dismissed",
        /// Staff handles the conversation: there is no reply.
        HandedOver = "handed_over",
    }
}

/// A call of an earlier turn that waited for staff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContinuedCall {
    /// The turn that called the tool.
    pub turn_id: TurnId,
    /// The id of the call. For users it is absent unless `toolCalls` shows them the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub call_id: Option<String>,
}

impl ContinuedCall {
    /// Omits the id of a call that an audience does not see among the calls `shown` to it. Returns `true` if
    /// it did.
    pub fn show_to(&mut self, audience: Audience, shown: &[ToolCall]) -> bool {
        let is_shown = |id: &String| shown.iter().any(|call| call.id == *id);
        let sees_all = audience == Audience::Staff;
        let hidden = self.call_id.take_if(|id| !sees_all && !is_shown(id));
        hidden.is_some()
    }
}

/// One user message and the work of replying to it; or the report of a call that staff has decided, or a
/// message of the agent that an operator has asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The turn's id.
    pub id: TurnId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The agent that replies.
    pub agent_id: AgentId,
    /// The version of the agent that replies; null while queued.
    pub agent_version: Option<i64>,
    /// The state of the turn.
    pub status: TurnStatus,
    /// The user's message; empty without one.
    pub input: String,
    /// The files of the user's message.
    #[serde(default)]
    pub files: Vec<FileReference>,
    /// The client's own id of the message.
    #[serde(default)]
    pub client_message_id: Option<String>,
    /// The failed turn that this turn repeats.
    #[serde(default)]
    pub retry_of: Option<TurnId>,
    /// The call of an earlier turn that staff has decided, and whose outcome this turn reports. It has no
    /// message of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub continues: Option<ContinuedCall>,
    /// The operator's instruction in place of a message of the user. Absent without one, and for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub instruction: Option<String>,
    /// The agent's message, if the turn has one.
    pub reply: Option<Message>,
    /// The engine that produced the reply.
    pub engine: Option<String>,
    /// The model that produced the reply, as its provider names it, or else as it was asked for. Null without one,
    /// if several replied to the requests of the turn, and if nothing names it.
    pub model: Option<String>,
    /// True if a fallback replied in place of the agent's engine.
    pub degraded: bool,
    /// The reason why the reply ended.
    pub finish_reason: Option<FinishReason>,
    /// The sum of the token counts of all requests that reported them, however the turn ended.
    pub usage: Option<Usage>,
    /// The tool calls in order, however the turn ended, as far as they are shown. While the turn runs, the calls up to now,
    /// if it runs in the process that responds.
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
    /// The model's reasoning up to now, or a summary of it, at most 64 KiB, however the turn ended. Absent without
    /// any, in events, and for callers to whom `showReasoning` does not show it.
    #[serde(default, with = "text_only", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(value_type = Option<String>, nullable = false)
    )]
    pub reasoning: Option<Reasoning>,
    /// The client's own string pairs.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// The reason of the failure.
    pub error: Option<Problem>,
    /// The time at which the message was received.
    pub created_at: Timestamp,
    /// The time at which the turn started.
    pub started_at: Option<Timestamp>,
    /// The time at which the turn ended.
    pub finished_at: Option<Timestamp>,
}

impl Turn {
    /// Returns the reason why a turn without a reply has ended in place of one.
    pub fn reason_without_reply(status: TurnStatus) -> Option<FinishReason> {
        (status == TurnStatus::Completed).then_some(FinishReason::HandedOver)
    }

    /// Returns false if the turn has ended without a reply because it needed none.
    pub fn may_have_reply(&self) -> bool {
        self.finish_reason != Some(FinishReason::HandedOver)
    }

    /// Returns the time at which the turn started or, while queued, was created: it cannot end
    /// earlier.
    pub fn latest_time(&self) -> Timestamp {
        self.started_at.unwrap_or(self.created_at)
    }

    /// Returns whether the turn answers a message of the user.
    pub const fn has_message(&self) -> bool {
        self.continues.is_none() && self.instruction.is_none()
    }

    /// Reduces the turn to what an audience sees of it. Returns `true` if it sees less than
    /// everything.
    pub fn show_to(&mut self, audience: Audience) -> bool {
        let in_reply = self.reply.as_mut().is_some_and(|it| it.show_to(audience));
        let in_calls = show_calls(&mut self.tool_calls, audience);
        let continued = self.continues.as_mut();
        let in_continued = continued.is_some_and(|it| it.show_to(audience, &self.tool_calls));
        let hidden = self.instruction.take_if(|_| audience == Audience::User);
        let is_hidden = |it: &mut Reasoning| !audience.sees_reasoning(it.shown_to);
        let in_reasoning = self.reasoning.take_if(is_hidden).is_some();
        in_reply | in_calls | in_continued | hidden.is_some() | in_reasoning
    }

    /// Returns the turn as it was when it was queued.
    #[must_use]
    pub fn as_queued(self) -> Self {
        Self {
            status: TurnStatus::Queued,
            agent_version: None,
            started_at: None,
            ..self.without_reply()
        }
    }

    /// Returns the turn as it was when it started.
    #[must_use]
    pub fn as_started(self) -> Self {
        Self {
            status: TurnStatus::InProgress,
            ..self.without_reply()
        }
    }

    /// Returns the turn as it was when it began to wait.
    #[must_use]
    pub fn as_waiting(self) -> Self {
        Self {
            status: TurnStatus::RequiresAction,
            error: None,
            finished_at: None,
            ..self
        }
    }

    /// Returns the turn with the final status `status`, as an event of that type shows it.
    #[must_use]
    pub fn as_ended(self, status: TurnStatus) -> Self {
        Self { status, ..self }
    }

    fn without_reply(self) -> Self {
        Self {
            reply: None,
            engine: None,
            model: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            output: None,
            repaired: false,
            reasoning: None,
            error: None,
            finished_at: None,
            ..self
        }
    }
}
