//! The content of requests besides the prompt.

use std::collections::BTreeMap;

use domain::{LlmSettings, ResponseSchema};
use ports::ToolUse;
use serde_json::Value;

use crate::dialect::Dialect;

/// The demands on a response.
pub(crate) struct Demands<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) streams: bool,
    pub(crate) settings: Option<&'a LlmSettings>,
    pub(crate) dialect: Dialect,
    /// True if the reasoning is shown to some callers.
    pub(crate) shows_reasoning: bool,
    pub(crate) may_call: bool,
    pub(crate) tool_use: &'a ToolUse,
    pub(crate) schema: Option<&'a ResponseSchema>,
    /// The members that the agent adds.
    pub(crate) extra_body: BTreeMap<&'a str, &'a Value>,
}
