//! The hand-over of a conversation to staff by its agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ActionNeeded, Timestamp, ToolCall, ToolStep, UnknownMembers, text::is_blank};

/// The built-in tool with which an agent hands its conversation over.
pub const TOOL: &str = "hand_over";
/// Its argument.
pub const REASON: &str = "reason";
/// The maximum length of a reason in characters. The rest is cut off.
const REASON_CHARACTERS: usize = 1_000;

/// The hand-over of a conversation to staff by its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    /// The reason that the agent has given; null without one.
    pub reason: Option<String>,
    /// The time of the hand-over.
    pub at: Timestamp,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl Handover {
    /// Returns the hand-over that a call has made, if it is a successful one of the tool.
    pub fn by(call: &ToolStep, at: Timestamp) -> Option<Self> {
        let is_of_client = |call: &ToolStep| {
            let wait = call.wait.as_ref();
            wait.is_some_and(|wait| wait.needs == ActionNeeded::Output)
        };
        let end = call.end.as_ref()?;
        if call.name != TOOL || end.status != ToolCall::OK || is_of_client(call) {
            return None;
        }
        let mut arguments = call.effective_arguments();
        let reason = match arguments.remove(REASON) {
            Some(Value::String(reason)) if !is_blank(&reason) => {
                Some(reason.chars().take(REASON_CHARACTERS).collect())
            }
            _ => None,
        };
        Some(Self {
            reason,
            at,
            unknown: UnknownMembers::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{ToolEnd, Wait};

    fn call(name: &str, arguments: &str, status: Option<&str>) -> ToolStep {
        let end = status.map(|status| ToolEnd::new(status, String::new(), Duration::ZERO));
        let step = serde_json::json!({
            "callId": "1-1", "name": name, "function": name, "arguments": arguments, "end": end,
        });
        serde_json::from_value(step).unwrap()
    }

    #[test]
    fn only_a_successful_call_of_the_tool_hands_over() {
        let at = Timestamp::from_milliseconds(7);
        let reason = |call: &ToolStep| Handover::by(call, at).map(|made| made.reason);
        let refund = r#"{"reason": "a refund"}"#;
        let done = Some(ToolCall::OK);
        assert_eq!(
            reason(&call(TOOL, refund, done)),
            Some(Some("a refund".to_owned()))
        );
        for arguments in ["{}", r#"{"reason": " "}"#, r#"{"reason": 7}"#] {
            assert_eq!(reason(&call(TOOL, arguments, done)), Some(None));
        }
        let long = format!(r#"{{"reason": "{}"}}"#, "ä".repeat(REASON_CHARACTERS + 1));
        let cut = reason(&call(TOOL, &long, done)).flatten().unwrap();
        assert_eq!(cut.chars().count(), REASON_CHARACTERS);
        assert_eq!(reason(&call("calculator", refund, done)), None);
        assert_eq!(reason(&call(TOOL, refund, None)), None);
        assert_eq!(reason(&call(TOOL, refund, Some(ToolCall::FAILED))), None);
    }

    #[test]
    fn the_output_of_a_page_hands_nothing_over() {
        let wait: Wait = serde_json::from_value(serde_json::json!({
            "needs": "output", "expiresAt": "2026-03-27T23:30:00Z",
        }))
        .unwrap();
        let of_page = ToolStep {
            wait: Some(Box::new(wait)),
            ..call(TOOL, "{}", Some(ToolCall::OK))
        };
        assert_eq!(
            Handover::by(&of_page, Timestamp::from_milliseconds(7)),
            None
        );
    }
}
