//! The end of a tool call.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ToolCall, sizes::TOOL_RESULT_BYTES};

/// The state of a call that waits for staff, in words for the user.
pub const WAITS_FOR_STAFF: &str = "This waits for approval by staff";
/// The result of a call that was denied, and what separates it from the reason.
const DENIED: &str = "not run: it was denied";
const BECAUSE: &str = ": ";

/// The end of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolEnd {
    /// The status, as in [`ToolCall`].
    pub status: String,
    /// The result, or the reason of the failure; of a result that is too long, the beginning.
    pub result: String,
    /// `true` if the result is cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The duration in milliseconds.
    pub duration_ms: i64,
}

impl ToolEnd {
    /// Creates the end of a call with this result, which is cut off if it is too long. Not every store takes
    /// the character NUL.
    pub fn new(status: &str, mut result: String, took: Duration) -> Self {
        if result.contains('\0') {
            result = result.replace('\0', "\u{fffd}");
        }
        let is_cut = result.len() > TOOL_RESULT_BYTES;
        result.truncate(result.floor_char_boundary(TOOL_RESULT_BYTES));
        Self {
            status: status.to_owned(),
            result,
            is_cut,
            duration_ms: i64::try_from(took.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Returns the duration.
    pub fn took(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.duration_ms).unwrap_or_default())
    }

    /// The end of a call that was denied, for this reason.
    pub fn denied(reason: Option<&str>) -> Self {
        let because = reason.map(|reason| format!("{BECAUSE}{reason}"));
        let result = format!("{DENIED}{}", because.unwrap_or_default());
        Self::new(ToolCall::DENIED, result, Duration::ZERO)
    }

    /// The end of a call that staff has approved: another turn makes it.
    pub fn approved() -> Self {
        let result = "approved by staff; its outcome follows".to_owned();
        Self::new(ToolCall::APPROVED, result, Duration::ZERO)
    }

    /// The end of a call that waited for staff when its reply was superseded.
    pub fn superseded() -> Self {
        let result = "not run: its reply was superseded".to_owned();
        Self::new(ToolCall::DISMISSED, result, Duration::ZERO)
    }

    /// Returns the reason in the result of a call that was denied.
    pub fn denial_reason(result: &str) -> Option<&str> {
        result.strip_prefix(DENIED)?.strip_prefix(BECAUSE)
    }

    /// The end that a model reads of a call that waits for approval by staff.
    pub fn waits_for_staff() -> Self {
        let result = format!("{WAITS_FOR_STAFF}. Tell the user.");
        Self::new(ToolCall::WAITING, result, Duration::ZERO)
    }

    /// The end of a call that ran when its process died, and that may have taken effect.
    pub fn outcome_unknown() -> Self {
        let result = "The service stopped while this ran. It may or may not have taken effect.";
        Self::new(ToolCall::OUTCOME_UNKNOWN, result.to_owned(), Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_denial_is_in_its_result() {
        for reason in [Some("too dear: 7 €"), None] {
            let end = ToolEnd::denied(reason);
            assert_eq!(ToolEnd::denial_reason(&end.result), reason);
        }
    }

    #[test]
    fn results_have_no_nul() {
        let end = ToolEnd::new(ToolCall::OK, "a\0b".to_owned(), Duration::ZERO);
        assert_eq!((end.result.as_str(), end.is_cut), ("a\u{fffd}b", false));
    }
}
