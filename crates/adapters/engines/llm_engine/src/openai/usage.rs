//! Token usage.

use domain::Usage;
use serde::Deserialize;
use serde_json::{from_str, value::RawValue};

use crate::lenient;

/// Reads the token usage. Implausible counts are ignored and never fail the response. A count that
/// is missing beside a valid one is zero, since some servers omit zeros.
pub(super) fn read_usage(raw: &RawValue) -> Option<Usage> {
    #[derive(Deserialize)]
    struct RawUsage<'a> {
        #[serde(default, borrow)]
        prompt_tokens: Option<&'a RawValue>,
        #[serde(default, borrow)]
        completion_tokens: Option<&'a RawValue>,
        #[serde(default, borrow)]
        prompt_tokens_details: Option<&'a RawValue>,
        #[serde(default, borrow)]
        completion_tokens_details: Option<&'a RawValue>,
    }
    let raw: RawUsage<'_> = from_str(raw.get()).ok()?;
    if raw.prompt_tokens.is_none() && raw.completion_tokens.is_none() {
        return None;
    }
    let read = |count: Option<&RawValue>| count.map_or(Some(0), lenient::count);
    let (input_tokens, output_tokens) = (read(raw.prompt_tokens)?, read(raw.completion_tokens)?);
    let part = |count: Option<&RawValue>, all| lenient::count(count?).filter(|part| *part <= all);
    let (prompt, completion) = (raw.prompt_tokens_details, raw.completion_tokens_details);
    Some(Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens: part(TokenDetails::read(prompt).cached_tokens, input_tokens),
        reasoning_tokens: part(
            TokenDetails::read(completion).reasoning_tokens,
            output_tokens,
        ),
    })
}

/// The parts of a token count.
#[derive(Default, Deserialize)]
struct TokenDetails<'a> {
    #[serde(default, borrow)]
    cached_tokens: Option<&'a RawValue>,
    #[serde(default, borrow)]
    reasoning_tokens: Option<&'a RawValue>,
}

impl<'a> TokenDetails<'a> {
    fn read(raw: Option<&'a RawValue>) -> Self {
        let details = raw.and_then(|raw| from_str(raw.get()).ok());
        details.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::openai::Chunk;

    #[rstest]
    #[case(r#"{"cached_tokens": 7}"#, r#"{"reasoning_tokens": 2.0}"#, (Some(7), Some(2)))]
    #[case(r#"{"cached_tokens": 0, "audio_tokens": 1}"#, "{}", (Some(0), None))]
    #[case(r#"{"reasoning_tokens": 1}"#, r#"{"cached_tokens": 1}"#, (None, None))]
    #[case(r#"{"cached_tokens": 8}"#, r#"{"reasoning_tokens": 3}"#, (None, None))]
    #[case(r#"{"cached_tokens": null}"#, r#"{"reasoning_tokens": -1}"#, (None, None))]
    #[case("null", "5", (None, None))]
    #[case("[]", r#""many""#, (None, None))]
    fn implausible_details_are_unknown(
        #[case] prompt: &str,
        #[case] completion: &str,
        #[case] (cached_input_tokens, reasoning_tokens): (Option<i64>, Option<i64>),
    ) {
        let chunk = format!(
            r#"{{"usage": {{"prompt_tokens": 7, "completion_tokens": 2,
                "prompt_tokens_details": {prompt}, "completion_tokens_details": {completion}}}}}"#
        );
        let chunk: Chunk<'_> = from_str(&chunk).unwrap();
        let expected = Usage {
            input_tokens: 7,
            output_tokens: 2,
            cached_input_tokens,
            reasoning_tokens,
        };
        assert_eq!(chunk.usage(), Some(expected));
    }

    #[rstest]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}"#, Some((7, 2)))]
    #[case(r#"{"prompt_tokens": 7.0, "completion_tokens": 2e0}"#, Some((7, 2)))]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": null}"#, Some((7, 0)))]
    #[case(r#"{"completion_tokens": 2}"#, Some((0, 2)))]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": -1}"#, None)]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": 2.5}"#, None)]
    #[case(r#"{"prompt_tokens": 7, "completion_tokens": "2"}"#, None)]
    #[case(r#"{"prompt_tokens": [7], "completion_tokens": {}}"#, None)]
    #[case(r#"{"prompt_tokens": 1000000001, "completion_tokens": 2}"#, None)]
    #[case(
        r#"{"prompt_tokens": 9223372036854775808, "completion_tokens": 2}"#,
        None
    )]
    #[case(r#"{"prompt_tokens": 1e999, "completion_tokens": 2}"#, None)]
    #[case("{}", None)]
    #[case("null", None)]
    #[case("[]", None)]
    #[case("\"many\"", None)]
    #[case("-1e999", None)]
    fn implausible_usage_is_ignored(#[case] usage: &str, #[case] expected: Option<(i64, i64)>) {
        let chunk = format!(r#"{{"usage": {usage}, "choices": []}}"#);
        let chunk: Chunk<'_> = from_str(&chunk).unwrap();
        let expected = expected.map(|(input_tokens, output_tokens)| Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        });
        assert_eq!(chunk.usage(), expected);
        assert!(chunk.choices.is_some());
    }
}
