//! Answers to tool calls, as clients send them.

use application::turns::CallAnswer;
use domain::{
    Action, FaultCode, InputFault, ProblemCode,
    action::as_text,
    large_integers::has_rounded_integer,
    sizes::{ARGUMENT_BYTES, ARGUMENT_LEVELS},
    tool_call::is_nested_deeper,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{problem::ApiError, request::JsonBody};

/// The maximum number of bytes of an output or an error.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// A number would be changed, in words.
const ROUNDED: &str = "has an integer of more than 64 bits";

/// The answers to tool calls of a turn: all of them are stored, or none.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionsRequest {
    /// The answers.
    #[schema(min_items = 1, max_items = 128)]
    actions: Vec<ActionItem>,
    /// Returns the turn's events as a stream when true. Default: decided by `Accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stream: Option<bool>,
}

/// The answer to a tool call: exactly one of `decision`, `output` and `error`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionItem {
    /// The id of the call.
    #[schema(max_length = 128)]
    call_id: String,
    /// For a call that needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    decision: Option<ActionDecision>,
    /// With an approval: the arguments with which the call is made instead of its own, at most 64 KiB, nested
    /// at most 32 levels deep. Only from those who may decide for staff (`tools:approve`, of users also `conversations:all`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    arguments: Option<Map<String, Value>>,
    /// The reason of a denial, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000, pattern = r"^[^\x00]*$", nullable = false)]
    reason: Option<String>,
    /// What a tool of the client has returned: text or any JSON, at most 64 KiB.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Value>)]
    output: Option<Value>,
    /// Why a tool of the client has failed: text or any JSON, at most 64 KiB.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Value>)]
    error: Option<Value>,
}

/// The decision about a call.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionDecision {
    /// The call is made.
    Approve,
    /// The call is not made; the model learns it, with the reason.
    Deny,
}

impl JsonBody for ActionsRequest {
    const SCHEMA: &'static str = "ActionsRequest";
}

/// Null is an output, too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<Vec<ActionItem>> for ActionsRequest {
    fn from(actions: Vec<ActionItem>) -> Self {
        Self {
            actions,
            stream: None,
        }
    }
}

impl ActionsRequest {
    /// Returns the member `stream`; `None` leaves the decision to `Accept`.
    pub const fn stream(&self) -> Option<bool> {
        self.stream
    }

    /// Returns the answers.
    pub fn into_answers(self) -> Result<Vec<CallAnswer>, ApiError> {
        let (mut answers, mut faults) = (Vec::new(), Vec::new());
        for (index, item) in self.actions.into_iter().enumerate() {
            match item.into_answer() {
                Ok(answer) => answers.push(answer),
                Err(fault) => faults.push(InputFault {
                    pointer: format!("/actions/{index}{}", fault.pointer),
                    ..fault
                }),
            }
        }
        if faults.is_empty() {
            return Ok(answers);
        }
        Err(ApiError::faults(ProblemCode::ValidationFailed, faults))
    }
}

impl ActionItem {
    fn into_answer(self) -> Result<CallAnswer, InputFault> {
        use ActionDecision::{Approve, Deny};
        let about_decision = (self.arguments, self.reason);
        let action = match (self.decision, about_decision, self.output, self.error) {
            (Some(Approve), (None, None), None, None) => Action::Approve,
            (Some(Approve), (Some(arguments), None), None, None) => {
                Action::ApproveEdited(arguments_text(arguments)?)
            }
            (Some(Deny), (None, reason), None, None) => Action::Deny { reason },
            (None, (None, None), Some(output), None) => {
                Action::Output(output_text("/output", output)?)
            }
            (None, (None, None), None, Some(error)) => Action::Error(output_text("/error", error)?),
            (None, _, None, None) => {
                let detail = "needs one of 'decision', 'output' and 'error'";
                return Err(InputFault::new("", FaultCode::Required, detail));
            }
            _ => {
                let detail = "takes one of 'decision', 'output' and 'error', 'arguments' only with an \
                              approval, and 'reason' only with a denial";
                return Err(InputFault::new("", FaultCode::NotCombinable, detail));
            }
        };
        Ok(CallAnswer {
            call_id: self.call_id,
            action,
        })
    }
}

/// Returns edited arguments as text, within the limits of those of a model.
fn arguments_text(arguments: Map<String, Value>) -> Result<String, InputFault> {
    let arguments = Value::Object(arguments);
    let fault = |code, detail: &str| Err(InputFault::new("/arguments", code, detail));
    if is_nested_deeper(&arguments, ARGUMENT_LEVELS) {
        return fault(FaultCode::TooLong, "must be nested at most 32 deep");
    }
    if has_rounded_integer(&arguments) {
        return fault(FaultCode::TooLarge, ROUNDED);
    }
    let text = arguments.to_string();
    if text.len() > ARGUMENT_BYTES {
        return fault(FaultCode::TooLong, "must be at most 64 KiB");
    }
    Ok(text)
}

/// Returns the text of an output or an error, if it is not too long.
pub fn output_text(pointer: &str, value: Value) -> Result<String, InputFault> {
    if has_rounded_integer(&value) {
        return Err(InputFault::new(pointer, FaultCode::TooLarge, ROUNDED));
    }
    let text = as_text(value);
    if text.len() > MAX_OUTPUT_BYTES {
        let detail = "must be at most 64 KiB";
        return Err(InputFault::new(pointer, FaultCode::TooLong, detail));
    }
    Ok(text)
}
