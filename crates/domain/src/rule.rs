//! Rules of the rule engine.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    FaultCode, InputFault, UnknownMembers, handover,
    sizes::{ARGUMENT_BYTES, ARGUMENT_LEVELS},
    tool_call::{is_nested_deeper, json_bytes},
};

/// One rule: it matches by `pattern` or by `keywords`, and replies with `reply` or `replies`, if
/// necessary after the `call` of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 128,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub name: Option<String>,
    /// Regular expression (syntax of the Rust crate `regex`, linear time), matched anywhere in the
    /// message, ignoring case. Exclusive with `keywords`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 512,
            pattern = r"^[^\x00]*$",
            nullable = false
        )
    )]
    pub pattern: Option<String>,
    /// Words that must all occur, in any order, ignoring case. Exclusive with `pattern`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_items = 1, max_items = 32, nullable = false, value_type = Option<Vec<Keyword>>))]
    pub keywords: Option<Vec<String>>,
    /// The reply. Exclusive with `replies`. Placeholders: `{{agent.name}}`,
    /// `{{agent.personality}}`, `{{message}}`, `{{user.id}}`, `{{capture.1}}`, `{{capture.name}}`, and
    /// beside a `call` `{{result}}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 8000,
            pattern = r"^[^\x00]*$",
            nullable = false
        )
    )]
    pub reply: Option<String>,
    /// Replies used in rotation, by the number of the turn in its conversation. Exclusive with
    /// `reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_items = 1, max_items = 32, nullable = false, value_type = Option<Vec<ReplyText>>))]
    pub replies: Option<Vec<String>>,
    /// The tool that is called before the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub call: Option<RuleCall>,
    /// True if the rule hands the conversation over to staff before it replies: a `call` of the tool
    /// `hand_over`, which the agent need not name. Exclusive with `call`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub hand_over: Option<bool>,
    /// The rule applies only if the agent has this capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 64,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub capability: Option<String>,
    /// Rules with a higher priority are tried first; equal ones in their order. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = -1_000_000, maximum = 1_000_000, nullable = false))]
    pub priority: Option<i32>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// A call of a tool. The turn then runs like one with a model that calls the tool: the call has the
/// tool's time limit and visibility, and is stored. In the reply, `{{result}}` is its result, or why
/// there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleCall {
    /// A tool that the agent has by its `tools` or its capabilities: a built-in one, or
    /// `<server>/<tool>`.
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 64,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            example = "calculator"
        )
    )]
    pub tool: String,
    /// The arguments, at most 64 KiB of JSON, nested at most 32 levels deep. Texts in them may contain
    /// the placeholders of replies, except `{{result}}`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<std::collections::BTreeMap<String, Value>>, nullable = false))]
    pub arguments: Option<Map<String, Value>>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// One word of `keywords`.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = r"^[^\x00]*$")]
pub struct Keyword(#[expect(dead_code, reason = "exists only for its schema")] String);

/// One of a rule's `replies`.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 8000, pattern = r"^[^\x00]*$")]
pub struct ReplyText(#[expect(dead_code, reason = "exists only for its schema")] String);

impl Rule {
    /// Returns the faults that the schema cannot express: a rule needs exactly one way to match and
    /// one way to reply, and arguments have limits. The rule engine checks if the pattern compiles.
    pub fn check(&self) -> Vec<InputFault> {
        let mut faults = Vec::new();
        let pairs = [
            (
                "pattern",
                self.pattern.is_some(),
                "keywords",
                self.keywords.is_some(),
            ),
            (
                "reply",
                self.reply.is_some(),
                "replies",
                self.replies.is_some(),
            ),
        ];
        for (first, has_first, second, has_second) in pairs {
            let (code, what) = match (has_first, has_second) {
                (true, true) => (FaultCode::NotCombinable, "only one of"),
                (false, false) => (FaultCode::Required, "one of"),
                _ => continue,
            };
            let pointer = format!("/{}", if has_second { second } else { first });
            faults.push(InputFault::new(
                pointer,
                code,
                format!("{what} '{first}' and '{second}'"),
            ));
        }
        if self.hands_over() && self.call.is_some() {
            let detail = "only one of 'call' and 'handOver'".to_owned();
            faults.push(InputFault::new(
                "/handOver",
                FaultCode::NotCombinable,
                detail,
            ));
        }
        faults.extend(self.call.as_ref().and_then(RuleCall::check));
        faults
    }

    /// Returns whether the rule hands the conversation over.
    pub fn hands_over(&self) -> bool {
        self.hand_over == Some(true)
    }

    /// Returns the tool call that the rule makes before it replies.
    pub fn tool_call(&self) -> Option<Cow<'_, RuleCall>> {
        let handing_over = || RuleCall {
            tool: handover::TOOL.to_owned(),
            arguments: None,
            unknown: UnknownMembers::default(),
        };
        let own = self.call.as_ref().map(Cow::Borrowed);
        own.or_else(|| self.hands_over().then(|| Cow::Owned(handing_over())))
    }

    /// Returns every text that this rule can reply with.
    pub fn answers(&self) -> &[String] {
        match (&self.reply, &self.replies) {
            (Some(reply), _) => std::slice::from_ref(reply),
            (None, Some(replies)) => replies,
            (None, None) => &[],
        }
    }
}

impl RuleCall {
    /// Returns the fault of arguments that no call may have.
    fn check(&self) -> Option<InputFault> {
        let arguments = self.arguments.as_ref()?;
        let is_too_deep = |value| is_nested_deeper(value, ARGUMENT_LEVELS - 1);
        let (code, detail) = if arguments.values().any(is_too_deep) {
            let detail = format!("nested more than {ARGUMENT_LEVELS} levels deep");
            (FaultCode::BadFormat, detail)
        } else if json_bytes(arguments) > ARGUMENT_BYTES {
            let detail = format!("at most {} KiB of JSON", ARGUMENT_BYTES / 1024);
            (FaultCode::TooLarge, detail)
        } else {
            return None;
        };
        Some(InputFault::new("/call/arguments", code, detail))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule_with(arguments: &Value) -> Rule {
        let call = json!({"tool": "calculator", "arguments": arguments});
        let rule = json!({"pattern": "a", "reply": "b", "call": call});
        serde_json::from_value(rule).unwrap()
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
    }

    #[test]
    fn a_call_is_written_as_it_was_read() {
        for call in [
            json!({"tool": "time"}),
            json!({"tool": "shop/find", "arguments": {}}),
            json!({"tool": "shop/find", "arguments": {"ids": [1, null]}, "of a newer version": 1}),
        ] {
            let read: RuleCall = serde_json::from_value(call.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), call);
        }
    }

    #[test]
    fn arguments_have_the_limits_of_calls() {
        let longest = "a".repeat(ARGUMENT_BYTES - r#"{"a":""}"#.len());
        for arguments in [json!({}), nested(ARGUMENT_LEVELS), json!({ "a": longest })] {
            assert_eq!(rule_with(&arguments).check(), []);
        }
        for (arguments, code) in [
            (nested(ARGUMENT_LEVELS + 1), FaultCode::BadFormat),
            (json!({ "a": longest + "a" }), FaultCode::TooLarge),
        ] {
            let faults = rule_with(&arguments).check();
            let found: Vec<_> = faults.iter().map(|it| (&*it.pointer, it.code)).collect();
            assert_eq!(found, [("/call/arguments", code)]);
        }
    }
}
