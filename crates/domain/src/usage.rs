//! What requests to models use.

use serde::{Deserialize, Serialize};

/// The token counts of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: i64,
    /// Tokens of the reply.
    pub output_tokens: i64,
    /// Those of the prompt that the provider read from its cache; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub cached_input_tokens: Option<i64>,
    /// Those of the reply that the model spent on reasoning; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub reasoning_tokens: Option<i64>,
}

impl Usage {
    /// Returns the sum. A count is unknown only if it is unknown in both.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let optional = |one: Option<i64>, other: Option<i64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
            cached_input_tokens: optional(self.cached_input_tokens, more.cached_input_tokens),
            reasoning_tokens: optional(self.reasoning_tokens, more.reasoning_tokens),
        }
    }
}

/// The purpose of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageKind {
    /// The reply of a turn.
    Chat,
    /// The title of a conversation, after a turn.
    Title,
}

impl UsageKind {
    /// Returns the name in stores.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Title => "title",
        }
    }
}

/// A request to a model that its provider may bill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestUsage {
    /// The number of the request in its turn among those of its kind, from 1.
    pub number: i64,
    /// The engine that sent it.
    pub engine: String,
    /// The model, if the engine tells.
    pub model: Option<String>,
    /// The token counts, if they were reported.
    pub usage: Option<Usage>,
}

impl RequestUsage {
    /// Returns the sum of all token counts that were reported; `None` if there are none.
    pub fn sum<'a>(requests: impl IntoIterator<Item = &'a Self>) -> Option<Usage> {
        let reported = requests.into_iter().filter_map(|request| request.usage);
        reported.reduce(Usage::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cached: Option<i64>, reasoning: Option<i64>) -> Usage {
        Usage {
            input_tokens: 5,
            output_tokens: 3,
            cached_input_tokens: cached,
            reasoning_tokens: reasoning,
        }
    }

    #[test]
    fn a_sum_contains_what_was_reported() {
        let request = |usage| RequestUsage {
            number: 1,
            engine: "llm".to_owned(),
            model: None,
            usage,
        };
        let requests = [
            None,
            Some(counts(None, None)),
            Some(counts(Some(2), None)),
            Some(counts(Some(1), None)),
        ];
        let sum = Usage {
            input_tokens: 15,
            output_tokens: 9,
            ..counts(Some(3), None)
        };
        let requests = requests.map(request);
        assert_eq!(RequestUsage::sum(&requests), Some(sum));
        assert_eq!(RequestUsage::sum(&requests[..1]), None);
        let largest = counts(None, Some(i64::MAX));
        assert_eq!(largest.plus(largest).reasoning_tokens, Some(i64::MAX));
    }

    #[test]
    fn unknown_counts_are_absent() {
        let text = r#"{"inputTokens":5,"outputTokens":3}"#;
        let usage = counts(None, None);
        assert_eq!(serde_json::to_string(&usage).unwrap(), text);
        assert_eq!(serde_json::from_str::<Usage>(text).unwrap(), usage);
    }
}
