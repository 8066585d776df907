//! Rules: what the rule engine says to what.

use serde::{Deserialize, Serialize};

use crate::{Fault, FaultCode};

/// One rule: it matches by `pattern` or by `keywords`, and answers with `reply` or `replies`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// What people call the rule.
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
    /// Regular expression (syntax of the Rust crate `regex`, linear time), matched anywhere in
    /// the message without regard to case. This or `keywords`.
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
    /// Words that must all occur, in any order and case. This or `pattern`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_items = 1, max_items = 32, nullable = false, value_type = Option<Vec<Keyword>>))]
    pub keywords: Option<Vec<String>>,
    /// The answer. This or `replies`. Placeholders: `{{agent.name}}`, `{{agent.personality}}`,
    /// `{{message}}`, `{{user.id}}`, `{{capture.1}}`, `{{capture.name}}`.
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
    /// Answers taken in turn, by the number of the turn in its conversation. This or `reply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(min_items = 1, max_items = 32, nullable = false, value_type = Option<Vec<ReplyText>>))]
    pub replies: Option<Vec<String>>,
    /// The rule counts only when the agent has this capability.
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
    /// Higher is tried first; equal ones in their order. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = -1_000_000, maximum = 1_000_000, nullable = false))]
    pub priority: Option<i32>,
}

/// One word of `keywords`.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = r"^[^\x00]*$")]
pub struct Keyword(#[expect(dead_code, reason = "stands for its schema alone")] String);

/// One of a rule's `replies`.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 8000, pattern = r"^[^\x00]*$")]
pub struct ReplyText(#[expect(dead_code, reason = "stands for its schema alone")] String);

impl Rule {
    /// What the schema cannot say: exactly one way to match and one way to answer. Whether the
    /// pattern compiles is the rule engine's to say.
    pub fn check(&self) -> Vec<Fault> {
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
            faults.push(Fault::new(
                pointer,
                code,
                format!("{what} '{first}' and '{second}'"),
            ));
        }
        faults
    }

    /// Every text this rule may answer with.
    pub fn answers(&self) -> &[String] {
        match (&self.reply, &self.replies) {
            (Some(reply), _) => std::slice::from_ref(reply),
            (None, Some(replies)) => replies,
            (None, None) => &[],
        }
    }
}
