//! Calls of tools, and what is kept of their arguments.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ActionNeeded, Approver, PrincipalId, Timestamp, ToolEnd, ToolVisibility, TurnId, Unanswered,
    UnknownMembers,
    sizes::{ARGUMENT_LEVELS, TURN_ARGUMENT_BYTES, TURN_RESULT_BYTES},
};

/// One call of a tool during a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call, unique among all turns; empty in turns of earlier versions.
    #[serde(default)]
    pub id: String,
    /// The position in the reply at which the tool was called, in bytes of UTF-8.
    #[serde(default)]
    pub at: usize,
    /// The tool's name.
    pub name: String,
    /// The arguments of the call. An empty object replaces arguments that are nested more than 32
    /// levels deep, or with which those of the turn would exceed 1 MiB of JSON. Null if they are not
    /// shown to users.
    pub arguments: Value,
    /// The arguments with which it was made, if those who approved it have changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub edited_arguments: Option<Value>,
    /// The status: `ok`, `invalid_arguments`, `failed`, `timed_out`, `unavailable`, `unknown_tool`
    /// or `too_many`; `running` until the call ends, and `waiting` while it waits for an answer.
    /// `approved` if staff has approved it, so that another turn makes it; `denied`, `expired`, or
    /// `dismissed` if the user has continued without answering. If its turn or its process ended first:
    /// `outcome_unknown`, since it may have taken effect, or `cancelled` if the tool changes nothing.
    /// Values can be added.
    pub status: String,
    /// The duration in milliseconds.
    pub duration_ms: i64,
    /// The result, or the reason of the failure, as the model receives it. Null if it exceeds
    /// 64 KiB, or 1 MiB together with the other results of the turn, and if it is not shown to users.
    #[serde(default)]
    pub result: Option<String>,
    /// While it waits: what it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub needs: Option<ActionNeeded>,
    /// While it waits for approval: who may approve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub approver: Option<Approver>,
    /// While it waits: the time from which it can no longer be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub expires_at: Option<Timestamp>,
    /// Who has answered it, as the `actor` of events. Absent for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub decided_by: Option<PrincipalId>,
    /// The time of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub decided_at: Option<Timestamp>,
    /// What users see of the call, as configured when it was made. `status` if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub visibility: Option<ToolVisibility>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl ToolCall {
    /// The status of a call that has returned a result.
    pub const OK: &str = "ok";
    /// The status of a call that has not ended.
    pub const RUNNING: &str = "running";
    /// The status of a call that staff has approved, so that another turn makes it.
    pub const APPROVED: &str = "approved";
    /// The status of a call that waits for an answer.
    pub const WAITING: &str = "waiting";
    /// The status of a call that may have taken effect: nobody knows how it ended.
    pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";
    /// The status of a call whose tool, or client, has reported an error.
    pub const FAILED: &str = "failed";
    /// The status of a call that was not approved.
    pub const DENIED: &str = "denied";
    /// The status of a call that nobody has answered, because the user has continued.
    pub const DISMISSED: &str = "dismissed";
    /// The status of a call that nobody has answered in time.
    pub const EXPIRED: &str = "expired";
    /// The status of a call that was not made, or changes nothing, in a turn that was cancelled.
    pub const CANCELLED: &str = "cancelled";
    /// The status of a call that was not made, because the turn has made too many.
    pub const TOO_MANY: &str = "too_many";
    /// The status of a call whose tool cannot be reached.
    pub const UNAVAILABLE: &str = "unavailable";

    /// Returns what the call needs from the user, or the page. It needs nothing of them while it waits for
    /// staff.
    pub fn needs_of_user(&self) -> Option<ActionNeeded> {
        self.needs
            .filter(|_| self.approver.is_none_or(|it| it == Approver::User))
    }

    /// Returns whether its turn has its outcome, or does not wait for it because staff decides later.
    pub fn has_returned(&self) -> bool {
        match self.status.as_str() {
            Self::RUNNING => false,
            Self::WAITING => self.needs.is_some() && self.needs_of_user().is_none(),
            _ => true,
        }
    }

    /// Returns a call that waited as it is once nobody will answer it: its user has continued, or its reply
    /// was superseded.
    #[must_use]
    pub fn dismissed(self) -> Self {
        let end = match self.needs_of_user() {
            Some(_) => Unanswered::Dismissed.end(),
            None => ToolEnd::superseded(),
        };
        Self {
            status: end.status,
            result: Some(end.result),
            ..self.answered()
        }
    }

    /// Returns a call that waited as it is once it was answered, and runs.
    #[must_use]
    pub fn answered(self) -> Self {
        Self {
            status: Self::RUNNING.to_owned(),
            result: None,
            needs: None,
            approver: None,
            expires_at: None,
            ..self
        }
    }

    /// Returns the value that replaces arguments that are not stored or not sent.
    pub fn omitted_arguments() -> Value {
        Value::Object(Map::new())
    }
}

/// The maximum length of the name of a function.
pub const FUNCTION_NAME_LENGTH: usize = 64;

/// Returns the name of a tool in the form that models accept for functions: letters, digits, `_` and
/// `-`. Two tools of an agent can have the same; then models know one of them with a number after it.
pub fn function_name(tool: &str) -> String {
    let letters = tool.chars().map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => letter,
        _ => '_',
    });
    letters.take(FUNCTION_NAME_LENGTH).collect()
}

/// Returns whether models accept a name for a function.
pub fn is_function_name(name: &str) -> bool {
    !name.is_empty() && function_name(name) == name
}

/// Returns the id of the call of a turn with this number, from 1.
pub fn call_id(turn: TurnId, number: usize) -> String {
    format!("{turn}-{number}")
}

/// Returns the turn of a call.
pub fn turn_of_call(call_id: &str) -> Option<TurnId> {
    call_id.rsplit_once('-')?.0.parse().ok()
}

/// What is kept of the arguments and results of the calls of a turn.
#[derive(Debug, Clone, Default)]
pub struct KeptCallData {
    argument_bytes: usize,
    result_bytes: usize,
}

impl KeptCallData {
    /// Returns the arguments, or a placeholder if they are too deep or too large.
    pub fn keep_arguments(&mut self, arguments: Map<String, Value>) -> Value {
        let arguments = Value::Object(arguments);
        // Checked first: a reader of the turn could not parse them either.
        if is_nested_deeper(&arguments, ARGUMENT_LEVELS) {
            return ToolCall::omitted_arguments();
        }
        let bytes = json_bytes(&arguments);
        if self.argument_bytes + bytes > TURN_ARGUMENT_BYTES {
            return ToolCall::omitted_arguments();
        }
        self.argument_bytes += bytes;
        arguments
    }

    /// Returns the result of an ended call, unless it is too large.
    pub fn keep_result(&mut self, end: &ToolEnd) -> Option<String> {
        let bytes = self.result_bytes + end.result.len();
        if end.is_cut || bytes > TURN_RESULT_BYTES {
            return None;
        }
        self.result_bytes = bytes;
        Some(end.result.clone())
    }
}

/// Returns `true` if arrays and objects are nested more than `levels` deep. Does not look deeper.
pub fn is_nested_deeper(value: &Value, levels: usize) -> bool {
    let is_deeper = |inner: &Value| {
        let levels = levels.checked_sub(1);
        levels.is_none_or(|levels| is_nested_deeper(inner, levels))
    };
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deeper),
        Value::Object(members) => levels == 0 || members.values().any(is_deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the number of bytes of a value as JSON.
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = ByteCounter(0);
    // Neither counting nor serializing a JSON value can fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// A writer that counts bytes.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_arrays_and_objects_count_as_levels() {
        for (value, levels) in [
            (json!(1), 0),
            (json!({}), 1),
            (json!([1, "[[[["]), 1),
            (json!({"a": [], "b": [1, {"c": [2]}], "d": 3}), 4),
        ] {
            assert!(!is_nested_deeper(&value, levels), "{value}");
            assert!(
                levels == 0 || is_nested_deeper(&value, levels - 1),
                "{value}"
            );
        }
    }

    #[test]
    fn json_bytes_are_the_length_of_the_text() {
        for value in [json!({"a": [1, null, "\u{1}é"]}), json!([]), json!("x")] {
            assert_eq!(json_bytes(&value), value.to_string().len(), "{value}");
        }
    }
}
