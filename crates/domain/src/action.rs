//! Answers to tool calls that wait for a person or a page.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ToolCall, ToolEnd, Unanswered, open_enum::open_enum};

open_enum! {
    /// The kind of answer that a tool call waits for.
    ActionNeeded[15] {
        /// Someone must approve or deny it.
        Approval = "approval",
        /// The client runs it, and sends its output.
        Output = "output",
    }
}

open_enum! {
    /// The person or group that may approve a call.
    Approver[15] {
        /// The user of the conversation; also keys and OAuth clients.
        User = "user",
        /// Members of staff.
        Staff = "staff",
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Action {
    /// The call is to be made.
    Approve,
    /// The call is to be made with these arguments instead: JSON text of an object.
    ApproveEdited(String),
    /// The call is not to be made.
    Deny {
        /// The reason, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The time to decide has passed; set by the service, never by a caller.
    Expire,
    /// The client has run the tool, with this output.
    Output(String),
    /// The client could not run the tool.
    Error(String),
}

impl Action {
    /// Returns what it answers.
    pub const fn answers(&self) -> ActionNeeded {
        match self {
            Self::Approve | Self::ApproveEdited(_) | Self::Deny { .. } | Self::Expire => {
                ActionNeeded::Approval
            }
            Self::Output(_) | Self::Error(_) => ActionNeeded::Output,
        }
    }

    /// Returns the end of a call that is answered so; `None` if it is made.
    pub fn end(&self) -> Option<ToolEnd> {
        let (status, result) = match self {
            Self::Approve | Self::ApproveEdited(_) => return None,
            Self::Expire => return Some(Unanswered::Expired.end()),
            Self::Deny { reason } => return Some(ToolEnd::denied(reason.as_deref())),
            Self::Output(output) => (ToolCall::OK, output.clone()),
            Self::Error(error) => (ToolCall::FAILED, error.clone()),
        };
        Some(ToolEnd::new(status, result, Duration::ZERO))
    }
}

/// Returns a value as text: that of a string itself, otherwise its JSON.
pub fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
