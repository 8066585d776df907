//! The parts of a UI message stream.

use domain::{FinishReason, Timestamp, TurnId, Usage};
use serde::Serialize;
use serde_json::{Map, Value};

/// A part of the stream.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Part {
    /// The turn waits for other turns of the chat.
    #[serde(rename = "data-queued")]
    Queued {
        data: QueuedData,
        transient: bool,
    },
    /// Without both, clients show no message.
    Start {
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<StartMetadata>,
    },
    StartStep,
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        delta: String,
    },
    ReasoningEnd {
        id: String,
    },
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: String,
    },
    TextEnd {
        id: String,
    },
    ToolInputAvailable {
        tool_call_id: String,
        tool_name: String,
        input: Map<String, Value>,
        /// False for a call that waits for the client: only such a call makes clients run their tools,
        /// and send the reply back as soon as all of them are answered.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        provider_executed: bool,
    },
    ToolApprovalRequest {
        approval_id: String,
        tool_call_id: String,
    },
    ToolOutputAvailable {
        tool_call_id: String,
        output: Value,
        provider_executed: bool,
    },
    ToolOutputError {
        tool_call_id: String,
        error_text: String,
        provider_executed: bool,
    },
    ToolOutputDenied {
        tool_call_id: String,
    },
    /// Metadata that the reply has in addition to those of its other parts.
    MessageMetadata {
        message_metadata: CancelledMetadata,
    },
    FinishStep,
    Finish {
        finish_reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<FinishMetadata>,
    },
    Abort {
        reason: &'static str,
    },
    Error {
        error_text: String,
    },
}

/// The data of `data-queued`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueuedData {
    pub(super) turn_id: TurnId,
}

/// The metadata of a reply at its beginning.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StartMetadata {
    pub(super) turn_id: TurnId,
    pub(super) agent_version: i64,
}

/// The metadata that a complete reply has in addition.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FinishMetadata {
    pub(super) engine: String,
    pub(super) model: Option<String>,
    pub(super) degraded: bool,
    pub(super) finish_reason: FinishReason,
    pub(super) usage: Option<Usage>,
    pub(super) created_at: Timestamp,
}

/// The metadata that the reply of a cancelled turn has in addition.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CancelledMetadata {
    pub(super) finish_reason: FinishReason,
}
