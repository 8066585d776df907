//! Settings of the language model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{FaultCode, InputFault, UnknownMembers, open_enum::open_enum, tool_call::json_bytes};

/// The maximum size of `extraBody` in bytes, as JSON.
const EXTRA_BODY_BYTES: usize = 8 * 1024;

open_enum! {
    /// How long a model reasons before it replies.
    ReasoningEffort[15] {
        /// Not at all.
        None = "none",
        /// As short as possible.
        Minimal = "minimal",
        /// Short.
        Low = "low",
        /// Of medium length.
        Medium = "medium",
        /// Long.
        High = "high",
    }
}

open_enum! {
    /// The callers that receive the model's reasoning.
    ShowReasoning[15] {
        /// None of them.
        Never = "never",
        /// Keys, OAuth clients, and users with `conversations:all`.
        Staff = "staff",
        /// All who may read the conversation.
        Everyone = "everyone",
    }
}

/// Returns whether a text can be the name of a model: 1 to 256 characters, without control characters.
pub fn is_model_name(text: &str) -> bool {
    (1..=256).contains(&text.chars().count()) && !text.contains(char::is_control)
}

/// A text at which the reply ends.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 256, pattern = r"^[^\x00]*$")]
pub struct StopText(#[expect(dead_code, reason = "exists only for its schema")] String);

/// Settings of the language model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LlmSettings {
    /// The model's name at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 256,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub model: Option<String>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 2, nullable = false))]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 1, nullable = false))]
    pub top_p: Option<f64>,
    /// Maximum number of tokens of one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 128_000, nullable = false)
    )]
    pub max_output_tokens: Option<u32>,
    /// Seed for repeatable sampling, if the provider supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(minimum = -9_007_199_254_740_991_i64, maximum = 9_007_199_254_740_991_i64, nullable = false))]
    pub seed: Option<i64>,
    /// Texts at which the reply ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_items = 4, nullable = false, value_type = Option<Vec<StopText>>))]
    pub stop: Option<Vec<String>>,
    /// Whether the model accepts a system message. If `false`, its text begins the first message of
    /// the user. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub system_role: Option<bool>,
    /// How long the model reasons before it replies; `none` turns it off. In place of a value that the model refuses it
    /// receives the next longer one up to `low`, and else none. Default: that of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The callers that receive the model's reasoning; for `staff` and `everyone` it is stored with the turn, too.
    /// Default: `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub show_reasoning: Option<ShowReasoning>,
    /// Additional members of requests to the provider, at most 8 KiB: only those that the operator permits
    /// (`LLM__EXTRA_BODY`). Fallbacks with another provider do not receive them.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub extra_body: Option<Map<String, Value>>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl LlmSettings {
    /// Returns the faults that the schema of a single member cannot express. Pointers are relative to the settings.
    pub fn check(&self) -> Vec<InputFault> {
        let bytes = self.extra_body.as_ref().map_or(0, json_bytes);
        if bytes <= EXTRA_BODY_BYTES {
            return Vec::new();
        }
        let detail = format!("at most {EXTRA_BODY_BYTES} bytes");
        vec![InputFault::new("/extraBody", FaultCode::TooLong, detail)]
    }
}
