//! Turns: one question and its answer.

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, ConversationId, Message, Problem, Timestamp, ToolCall, TurnId, config::Metadata,
};

/// Where a turn stands. The last three are final, and every turn reaches exactly one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// Waits behind the turn in progress.
    Queued,
    /// The engine is at work.
    InProgress,
    /// Answered.
    Completed,
    /// Ended without an answer; `error` says why.
    Failed,
    /// Ended by a caller, or with its agent or conversation.
    Cancelled,
}

impl TurnStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word that stores and clients read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing can follow.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was complete.
    Stop,
    /// It reached the limit on its length.
    Length,
    /// The provider's filter cut it.
    ContentFilter,
    /// The turn was cancelled; the text is what had been said until then.
    Cancelled,
}

impl FinishReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [
        Self::Stop,
        Self::Length,
        Self::ContentFilter,
        Self::Cancelled,
    ];

    /// The word that stores and clients read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Tokens that the engine counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: i64,
    /// Tokens of the answer.
    pub output_tokens: i64,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Names the turn.
    pub id: TurnId,
    /// Where it takes place.
    pub conversation_id: ConversationId,
    /// Who answers.
    pub agent_id: AgentId,
    /// The version of the agent that answers; null while queued.
    pub agent_version: Option<i64>,
    /// Where it stands.
    pub status: TurnStatus,
    /// The user's text.
    pub input: String,
    /// The agent's message, once there is one.
    pub reply: Option<Message>,
    /// The engine that answered.
    pub engine: Option<String>,
    /// Whether a fallback answered in place of the agent's engine.
    pub degraded: bool,
    /// Why the answer ended.
    pub finish_reason: Option<FinishReason>,
    /// Tokens, where the engine counts them.
    pub usage: Option<Usage>,
    /// Tools that were called, in order, however the turn ended; of one that runs, those so far, if
    /// it runs in the process that answers.
    pub tool_calls: Vec<ToolCall>,
    /// String pairs of the client's own.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// Why it failed.
    pub error: Option<Problem>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When the engine was called.
    pub started_at: Option<Timestamp>,
    /// When it reached its final status.
    pub finished_at: Option<Timestamp>,
}

impl Turn {
    /// When it started, or was made while it waits: it cannot end before.
    pub fn latest_time(&self) -> Timestamp {
        self.started_at.unwrap_or(self.created_at)
    }

    /// The turn as it was when it began to wait.
    #[must_use]
    pub fn as_queued(self) -> Self {
        Self {
            status: TurnStatus::Queued,
            agent_version: None,
            started_at: None,
            ..self.unanswered()
        }
    }

    /// The turn as it was when it started.
    #[must_use]
    pub fn as_started(self) -> Self {
        Self {
            status: TurnStatus::InProgress,
            ..self.unanswered()
        }
    }

    /// The turn as it was when it ended as `status`; what another end wrote does not show.
    #[must_use]
    pub fn as_ended(self, status: TurnStatus) -> Self {
        Self { status, ..self }
    }

    fn unanswered(self) -> Self {
        Self {
            reply: None,
            engine: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            error: None,
            finished_at: None,
            ..self
        }
    }
}
