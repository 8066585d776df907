//! The token counts of a response.

use domain::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient;

/// Counts as they are sent: at the beginning of a response, and again at its end.
#[derive(Default, Deserialize)]
pub(super) struct SentCounts<'a> {
    #[serde(default, borrow)]
    input_tokens: Option<&'a RawValue>,
    #[serde(default, borrow)]
    cache_creation_input_tokens: Option<&'a RawValue>,
    #[serde(default, borrow)]
    cache_read_input_tokens: Option<&'a RawValue>,
    #[serde(default, borrow)]
    output_tokens: Option<&'a RawValue>,
    #[serde(default, borrow)]
    output_tokens_details: Option<&'a RawValue>,
}

/// The parts of the count of the output.
#[derive(Default, Deserialize)]
struct OutputDetails<'a> {
    #[serde(default, borrow)]
    thinking_tokens: Option<&'a RawValue>,
}

/// The latest counts. Those at the end lack some that were sent at the beginning.
#[derive(Default)]
pub(super) struct TokenCounts {
    input: Option<i64>,
    written_to_cache: Option<i64>,
    read_from_cache: Option<i64>,
    output: Option<i64>,
    reasoning: Option<i64>,
}

impl TokenCounts {
    pub(super) fn update(&mut self, sent: &SentCounts<'_>) {
        let details = sent.output_tokens_details;
        let details = details.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let details: OutputDetails<'_> = details.unwrap_or_default();
        for (count, sent) in [
            (&mut self.input, sent.input_tokens),
            (&mut self.written_to_cache, sent.cache_creation_input_tokens),
            (&mut self.read_from_cache, sent.cache_read_input_tokens),
            (&mut self.output, sent.output_tokens),
            (&mut self.reasoning, details.thinking_tokens),
        ] {
            *count = sent.and_then(lenient::count).or(*count);
        }
    }

    /// Returns the usage; `None` unless both counts are known.
    pub(super) fn usage(&self) -> Option<Usage> {
        let (input, output_tokens) = (self.input?, self.output?);
        let cached = self.read_from_cache.unwrap_or_default();
        Some(Usage {
            // Unlike ours, the server's count excludes what the cache has read or written.
            input_tokens: input + cached + self.written_to_cache.unwrap_or_default(),
            output_tokens,
            cached_input_tokens: self.read_from_cache,
            reasoning_tokens: self.reasoning.filter(|part| *part <= output_tokens),
        })
    }
}
