//! Parameters that some servers and models refuse. What a model accepts is learned from its refusals,
//! unless the operator has set it.

use std::collections::HashMap;

use domain::{LlmSettings, ReasoningEffort};
use parking_lot::Mutex;

use crate::{
    efforts::{EffortRefusal, RefusedEfforts},
    upstream_error::UpstreamError,
};

/// The maximum number of models about which something is remembered: agents choose their names.
const MAX_MODELS: usize = 1000;

/// The parameters of the requests to one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Streams are requested with `stream_options`, and so with the token usage.
    pub(crate) stream_options: bool,
    /// The limit of tokens is `max_completion_tokens` rather than `max_tokens`.
    pub(crate) max_completion_tokens: bool,
    /// The efforts of reasoning that are not sent.
    pub(crate) refused_efforts: RefusedEfforts,
}

impl Dialect {
    /// Returns the effort of reasoning that is sent for an agent.
    pub(crate) fn effort_for(self, agent: Option<&LlmSettings>) -> Option<ReasoningEffort> {
        self.refused_efforts.sent_for(agent?.reasoning_effort?)
    }
}

/// The parameters that a refusal of a request names as the reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RefusedParameters {
    stream_options: bool,
    max_tokens: bool,
    max_completion_tokens: bool,
    effort: Option<EffortRefusal>,
}

/// The dialects of the models of one server.
pub(crate) struct Dialects {
    /// The settings of the operator.
    stream_options: Option<bool>,
    max_completion_tokens: Option<bool>,
    learned: Mutex<HashMap<Option<String>, Dialect>>,
}

impl RefusedParameters {
    /// Reads the text of an error.
    pub(crate) fn read(text: &str) -> Self {
        // Others say that the limit is too high.
        const UNKNOWN: [&str; 6] = [
            "unsupported",
            "not support",
            "extra",
            "unknown",
            "unrecognized",
            "unexpected",
        ];
        let text = text.to_ascii_lowercase();
        let is_unknown = UNKNOWN.iter().any(|word| text.contains(word));
        Self {
            stream_options: text.contains("stream_options"),
            max_tokens: text.contains("max_tokens") && is_unknown,
            max_completion_tokens: text.contains("max_completion_tokens"),
            effort: EffortRefusal::read(&text),
        }
    }
}

impl Dialects {
    pub(crate) fn new(stream_options: Option<bool>, max_completion_tokens: Option<bool>) -> Self {
        Self {
            stream_options,
            max_completion_tokens,
            learned: Mutex::default(),
        }
    }

    /// Returns the dialect of a model.
    pub(crate) fn of(&self, model: Option<&str>) -> Dialect {
        let learned = self.learned.lock().get(&model.map(str::to_owned)).copied();
        learned.unwrap_or(Dialect {
            stream_options: self.stream_options.unwrap_or(true),
            max_completion_tokens: self.max_completion_tokens.unwrap_or(false),
            refused_efforts: RefusedEfforts::default(),
        })
    }

    /// Returns the dialect with which to repeat a refused request of an agent. `first` is the one of its first
    /// attempt and `current` that of the refused one; no parameter is changed twice, but the effort of reasoning,
    /// which has several replacements.
    pub(crate) fn after_refusal(
        &self,
        first: Dialect,
        current: Dialect,
        agent: Option<&LlmSettings>,
        error: &UpstreamError,
    ) -> Option<Dialect> {
        let refused = error.refused;
        let mut next = current;
        if refused.stream_options && self.stream_options.is_none() {
            next.stream_options = false;
        }
        let refuses_limit = refused.max_completion_tokens || refused.max_tokens;
        let is_first_limit = current.max_completion_tokens == first.max_completion_tokens;
        if refuses_limit && is_first_limit && self.max_completion_tokens.is_none() {
            next.max_completion_tokens = !current.max_completion_tokens;
        }
        if let Some(refusal) = refused.effort {
            next.refused_efforts = current
                .refused_efforts
                .and(refusal, current.effort_for(agent));
        }
        (next != current).then_some(next)
    }

    /// Remembers the dialect in which a model has replied.
    pub(crate) fn remember(&self, model: Option<&str>, dialect: Dialect) {
        let mut learned = self.learned.lock();
        if learned.len() >= MAX_MODELS {
            learned.clear();
        }
        learned.insert(model.map(str::to_owned), dialect);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("stream_options: Extra inputs are not permitted", [true, false, false])]
    #[case("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", [false, true, true])]
    #[case("max_tokens: Extra inputs are not permitted", [false, true, false])]
    #[case("max_tokens is too large: 100000. This model supports at most 16384.", [false, false, false])]
    #[case("Unknown model 'x'", [false, false, false])]
    fn refusals_name_parameters(#[case] text: &str, #[case] expected: [bool; 3]) {
        let [stream_options, max_tokens, max_completion_tokens] = expected;
        let expected = RefusedParameters {
            stream_options,
            max_tokens,
            max_completion_tokens,
            effort: None,
        };
        assert_eq!(RefusedParameters::read(text), expected);
    }

    #[test]
    fn a_limited_number_of_models_is_remembered() {
        let dialects = Dialects::new(None, None);
        let learned = Dialect {
            stream_options: false,
            max_completion_tokens: true,
            refused_efforts: RefusedEfforts::default(),
        };
        for number in 0..10 * MAX_MODELS {
            dialects.remember(Some(&number.to_string()), learned);
        }
        assert!(dialects.learned.lock().len() <= MAX_MODELS);
        assert_eq!(dialects.of(Some("9999")), learned);
        assert_ne!(dialects.of(Some("another")), learned);
    }
}
