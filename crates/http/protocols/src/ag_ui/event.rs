//! The events of the protocol.

use domain::{ActionNeeded, Timestamp, ToolCall};
use serde::Serialize;
use serde_json::{Value, json};

/// The version of the protocol, for clients that declare theirs.
pub(super) const PROTOCOL_VERSION: &str = "1.0";

/// An event.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
pub(super) enum RunEvent<'a> {
    RunStarted {
        thread_id: &'a str,
        run_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        protocol_version: Option<&'static str>,
    },
    MessagesSnapshot {
        messages: Vec<Value>,
    },
    TextMessageStart {
        message_id: &'a str,
        role: &'static str,
    },
    TextMessageContent {
        message_id: &'a str,
        delta: &'a str,
    },
    TextMessageEnd {
        message_id: &'a str,
    },
    ReasoningStart {
        message_id: &'a str,
    },
    ReasoningMessageStart {
        message_id: &'a str,
        role: &'static str,
    },
    ReasoningMessageContent {
        message_id: &'a str,
        delta: &'a str,
    },
    ReasoningMessageEnd {
        message_id: &'a str,
    },
    ReasoningEnd {
        message_id: &'a str,
    },
    ToolCallStart {
        tool_call_id: &'a str,
        tool_call_name: &'a str,
        parent_message_id: &'a str,
    },
    ToolCallArgs {
        tool_call_id: &'a str,
        delta: &'a str,
    },
    ToolCallEnd {
        tool_call_id: &'a str,
    },
    ToolCallResult {
        message_id: &'a str,
        tool_call_id: &'a str,
        content: &'a str,
        role: &'static str,
        /// The status of the call.
        metadata: Value,
    },
    Custom {
        name: &'static str,
        value: Value,
    },
    RunFinished {
        thread_id: &'a str,
        run_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        /// The output of a reply by a schema; null is a value.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<[TokenUsage; 1]>,
    },
    RunError {
        message: &'a str,
        code: &'a str,
    },
}

/// The reason why a run has ended without a failure. Clients of earlier versions do not know it.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub(super) enum Outcome {
    Success {
        /// The calls of tools of the client that wait for it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    /// Calls wait for approval.
    Interrupt {
        interrupts: Vec<Interrupt>,
    },
    Cancelled,
}

/// A call that waits for approval.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interrupt {
    id: String,
    reason: &'static str,
    message: String,
    tool_call_id: String,
    /// The schema of the answer.
    response_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

impl Interrupt {
    fn of(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            reason: "tool_call",
            message: format!("May the agent call {}?", call.name),
            tool_call_id: call.id.clone(),
            response_schema: json!({
                "type": "object",
                "properties": {
                    "approved": {"type": "boolean"},
                    "reason": {"type": "string", "description": "Why not, for the model."},
                },
                "required": ["approved"],
            }),
            expires_at: call.expires_at,
        }
    }
}

impl Outcome {
    pub(super) const SUCCESS: Self = Self::Success {
        pending_tool_call_ids: Vec::new(),
    };

    /// Returns the outcome of a turn that waits for answers to its calls.
    pub(super) fn waiting(calls: &[ToolCall]) -> Self {
        let needing = |needs| {
            calls
                .iter()
                .filter(move |call| call.needs_of_user() == Some(needs))
        };
        let interrupts: Vec<_> = needing(ActionNeeded::Approval).map(Interrupt::of).collect();
        if !interrupts.is_empty() {
            return Self::Interrupt { interrupts };
        }
        let pending = needing(ActionNeeded::Output).map(|call| call.id.clone());
        Self::Success {
            pending_tool_call_ids: pending.collect(),
        }
    }
}

/// The token counts of a run.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the protocol names them")]
pub(super) struct TokenUsage {
    input_tokens: i64,
    output_tokens: i64,
    total_tokens: i64,
}

impl From<domain::Usage> for TokenUsage {
    fn from(usage: domain::Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        }
    }
}

/// Returns the metadata of a tool result: its status, also as `TanStack` AI reads it.
pub(super) fn result_metadata(status: &str) -> Value {
    if matches!(
        status,
        ToolCall::OK | ToolCall::WAITING | ToolCall::APPROVED
    ) {
        json!({ "status": status })
    } else {
        json!({ "status": status, "tanstack": { "state": "output-error" } })
    }
}

/// Returns the content of a tool result. A result that is not kept is replaced by its status.
pub(super) fn result_content<'a>(result: Option<&'a str>, status: &'a str) -> &'a str {
    result.unwrap_or(status)
}

/// Returns the id of the message with the result of a call.
pub(super) fn result_message_id(call: &str) -> String {
    format!("{call}-result")
}
