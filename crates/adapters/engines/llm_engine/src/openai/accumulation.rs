//! Adding chunks to a response.

use std::borrow::Cow;

use domain::FinishReason;
use serde_json::Value;

use super::{Chunk, Content, Part};
use crate::{
    error::LlmError,
    response_accumulator::{ResponseAccumulator, replace_nul},
    upstream_error::UpstreamError,
};

impl ResponseAccumulator {
    /// Adds a chunk. The text of a chunk that fails is not kept.
    pub(crate) fn push(&mut self, chunk: Chunk<'_>, key: Option<&str>) -> Result<(), LlmError> {
        let before = self.text.len();
        let result = self.push_chunk(chunk, key);
        if result.is_err() {
            self.text.truncate(before);
        }
        result
    }

    fn push_chunk(&mut self, chunk: Chunk<'_>, key: Option<&str>) -> Result<(), LlmError> {
        if let Some(error) = &chunk.error {
            return Err(UpstreamError::read(None, error, key).into());
        }
        self.note_model(&chunk.model);
        // Some servers send a running count; the last one is the total.
        self.usage = chunk.usage().or(self.usage);
        let (had_reason, before) = (self.finish_reason.is_some(), self.size());
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index.is_some_and(|index| index != 0) {
                continue;
            }
            if let Some(part) = choice.delta.or(choice.message) {
                self.push_part(part)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(read_finish_reason(&reason)?);
            }
        }
        self.continues_after_finish_reason |= had_reason && self.size() > before;
        Ok(())
    }

    fn push_part(&mut self, part: Part<'_>) -> Result<(), LlmError> {
        self.show_reasoning(part.reasoning());
        let content = part.content.map(Content::into_text);
        for text in content.into_iter().chain(part.refusal.map(Cow::Owned)) {
            self.text.push_str(&self.thoughts.push(replace_nul(text)));
        }
        self.reasoning
            .push_str(&part.reasoning_content.unwrap_or_default());
        self.calls.push(part.tool_calls.unwrap_or_default())?;
        self.check_size()
    }
}

/// An unknown reason still shows that the response is complete, so it counts as `Stop`.
fn read_finish_reason(word: &str) -> Result<FinishReason, LlmError> {
    match word.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "model_length" => Ok(FinishReason::Length),
        "content_filter" | "safety" => Ok(FinishReason::ContentFilter),
        "error" => Err(UpstreamError::read(None, &Value::Null, None).into()),
        _ => Ok(FinishReason::Stop),
    }
}

#[cfg(test)]
mod tests {
    use domain::Usage;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::response_accumulator::MAX_RESPONSE_BYTES;

    fn push(response: &mut ResponseAccumulator, chunk: &Value) -> Result<(), LlmError> {
        response.push(serde_json::from_str(&chunk.to_string()).unwrap(), None)
    }

    fn delta(text: &str) -> Value {
        json!({"choices": [{"delta": {"content": text}}]})
    }

    fn ended(reason: &str) -> Value {
        json!({"choices": [{"finish_reason": reason}]})
    }

    #[rstest]
    #[case("stop", FinishReason::Stop)]
    #[case("length", FinishReason::Length)]
    #[case("MAX_TOKENS", FinishReason::Length)]
    #[case("content_filter", FinishReason::ContentFilter)]
    #[case("tool_calls", FinishReason::Stop)]
    #[case("eos", FinishReason::Stop)]
    fn finish_reasons_are_read(#[case] word: &str, #[case] expected: FinishReason) {
        let mut response = ResponseAccumulator::default();
        push(&mut response, &ended(word)).unwrap();
        assert_eq!(response.finish_reason, Some(expected));
    }

    #[rstest]
    #[case::nothing(&[], false)]
    #[case::text(&[delta("Hi")], false)]
    #[case::text_and_then_a_reason(&[delta("Hi"), ended("stop")], true)]
    #[case::a_reason_and_then_tokens(&[delta("Hi"), ended("stop"), json!({"usage": {}})], true)]
    #[case::more_text_after_a_reason(&[delta("Hi"), ended("stop"), delta("!"), ended("stop")], false)]
    #[case::a_thought_with_a_reason(&[json!({"choices": [{"delta": {"reasoning_content": "hm"}, "finish_reason": "stop"}]})], false)]
    #[case::nothing_since_it_was_filtered(&[ended("content_filter")], true)]
    fn completeness_depends_on_what_follows_the_finish_reason(
        #[case] chunks: &[Value],
        #[case] expected: bool,
    ) {
        let mut response = ResponseAccumulator::default();
        for chunk in chunks {
            push(&mut response, chunk).unwrap();
        }
        assert_eq!(response.is_complete(), expected);
    }

    #[test]
    fn the_finish_reason_error_is_an_error() {
        let mut response = ResponseAccumulator::default();
        let failed = push(&mut response, &ended("error"));
        assert!(failed.unwrap_err().is_transient());
    }

    #[rstest]
    #[case::with_an_error(json!({"choices": [{"delta": {"content": "b"}, "finish_reason": "error"}]}))]
    #[case::too_large(delta(&"b".repeat(MAX_RESPONSE_BYTES)))]
    fn the_text_of_a_failed_chunk_is_not_kept(#[case] failing: Value) {
        let mut response = ResponseAccumulator::default();
        push(&mut response, &delta("a")).unwrap();
        push(&mut response, &failing).unwrap_err();
        assert_eq!(response.text, "a");
    }

    #[test]
    fn text_alone_counts_as_a_chunk() {
        let mut response = ResponseAccumulator::default();
        push(&mut response, &delta("a")).unwrap();
        push(&mut response, &ended("stop")).unwrap();
        assert!(response.is_complete());
        response.push_text("b").unwrap();
        assert!(!response.is_complete());
        response
            .push_text(&"c".repeat(MAX_RESPONSE_BYTES))
            .unwrap_err();
        assert_eq!(response.text, "ab");
    }

    #[test]
    fn new_text_is_returned_once() {
        let mut response = ResponseAccumulator::default();
        push(&mut response, &delta("a")).unwrap();
        push(&mut response, &delta("é")).unwrap();
        assert_eq!(response.take_new_text(), "aé");
        assert_eq!(response.take_new_text(), "");
        push(&mut response, &delta("b")).unwrap();
        assert_eq!(response.take_new_text(), "b");
        assert_eq!(response.text, "aéb");
    }

    #[test]
    fn only_the_first_choice_is_read() {
        let mut response = ResponseAccumulator::default();
        let choices = [
            json!({"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}),
            json!({"index": 0, "delta": {"content": "th"}}),
            json!({"index": null, "delta": {"content": "is"}}),
        ];
        push(&mut response, &json!({"choices": choices})).unwrap();
        assert_eq!(response.text, "this");
        assert_eq!(response.finish_reason, None);
    }

    #[test]
    fn a_refusal_is_text_and_reasoning_is_not() {
        let mut response = ResponseAccumulator::default();
        let chunk = json!({"choices": [{"delta": {"refusal": "No.", "reasoning_content": "hm"}}]});
        push(&mut response, &chunk).unwrap();
        assert_eq!(response.text, "No.");
        assert_eq!(response.reasoning, "hm");
    }

    #[test]
    fn reasoning_is_returned_once_if_somebody_may_see_it() {
        let chunk = json!({"choices": [{"delta": {"reasoning": "h\0m"}}]});
        let mut hidden = ResponseAccumulator::default();
        push(&mut hidden, &chunk).unwrap();
        assert_eq!(hidden.take_new_reasoning(), "");
        assert!(hidden.is_empty(), "other names are not kept");
        for (is_repeated, expected) in [(false, "h\u{fffd}m"), (true, "\n\nh\u{fffd}m")] {
            let mut shown = ResponseAccumulator::showing_reasoning(is_repeated);
            assert_eq!(shown.take_new_reasoning(), "");
            assert!(!shown.has_shown_reasoning);
            push(&mut shown, &chunk).unwrap();
            assert_eq!(shown.take_new_reasoning(), expected);
            assert_eq!(shown.take_new_reasoning(), "");
            assert!(shown.has_shown_reasoning && !shown.has_output());
            let large = "a".repeat(MAX_RESPONSE_BYTES);
            let large = json!({"choices": [{"delta": {"reasoning": large}}]});
            push(&mut shown, &large).unwrap_err();
        }
    }

    #[test]
    fn the_last_valid_usage_wins() {
        let mut response = ResponseAccumulator::default();
        for tokens in [json!(3), json!(5), json!(-1)] {
            let usage = json!({"usage": {"prompt_tokens": 9, "completion_tokens": tokens}});
            push(&mut response, &usage).unwrap();
        }
        let expected = Usage {
            input_tokens: 9,
            output_tokens: 5,
            ..Usage::default()
        };
        assert_eq!(response.usage, Some(expected));
    }

    #[test]
    fn nul_is_replaced() {
        let mut response = ResponseAccumulator::default();
        push(&mut response, &delta("a\0b")).unwrap();
        assert_eq!(response.text, "a\u{fffd}b");
    }

    #[test]
    fn a_response_that_is_too_large_is_rejected() {
        let mut response = ResponseAccumulator::default();
        let half = "a".repeat(MAX_RESPONSE_BYTES / 2);
        push(&mut response, &delta(&half)).unwrap();
        push(
            &mut response,
            &json!({"choices": [{"delta": {"reasoning_content": half}}]}),
        )
        .unwrap();
        assert!(push(&mut response, &delta("a")).is_err());
    }
}
