//! The result of a test of rules.

use serde::{Deserialize, Serialize};

use crate::{FinishReason, RuleCall};

/// The reply of the rule engine to a test message, and the result of every rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleTest {
    /// The reply. If the rule calls a tool, `{{result}}` stands for the result.
    pub reply: String,
    /// The call that the rule makes before it replies, if any. The test makes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub call: Option<RuleCall>,
    /// The reason why the reply ended: `stop`, or `length` if it was cut.
    pub finish_reason: FinishReason,
    /// The source of the reply.
    pub source: RuleReplySource,
    /// The index in `rules` of the rule that replied; null if no rule matched.
    pub matched_rule: Option<usize>,
    /// One result for each rule, in their order.
    pub rules: Vec<RuleResult>,
}

/// The source of a reply of the rule engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleReplySource {
    /// The matching rule.
    Rule,
    /// The agent's `fallbackReply`.
    FallbackReply,
    /// Small talk, such as a greeting.
    SmallTalk,
    /// The reply of agents without a `fallbackReply`.
    Default,
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleResult {
    /// The index of the rule in the list of rules.
    pub index: usize,
    /// The name of the rule, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub name: Option<String>,
    /// The outcome: a match, or the first reason why the rule did not reply.
    pub outcome: RuleOutcome,
    /// With `missing_keyword`: the first of the `keywords` that does not occur.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub keyword: Option<String>,
    /// With `missing_capability`: the capability that the agent lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub capability: Option<String>,
}

/// The outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// The rule matches, and replied.
    Matched,
    /// The agent lacks the capability of the rule.
    MissingCapability,
    /// A keyword does not occur in the message.
    MissingKeyword,
    /// The pattern does not occur in the message.
    PatternNotFound,
    /// The rule was not tried: a rule before it, by `priority` and order, matched.
    Later,
}
