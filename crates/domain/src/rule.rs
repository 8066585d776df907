//! Rules of the rule engine.

use serde::{Deserialize, Serialize};

use crate::{FaultCode, InputFault, UnknownMembers};

/// One rule: it matches by `pattern` or by `keywords`, and replies with `reply` or `replies`.
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
    /// `{{agent.personality}}`, `{{message}}`, `{{user.id}}`, `{{capture.1}}`, `{{capture.name}}`.
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
    /// one way to reply. The rule engine checks if the pattern compiles.
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
        faults
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
