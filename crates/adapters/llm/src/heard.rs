//! What one question has brought so far.

use domain::{FinishReason, Usage};
use serde_json::Value;

use crate::{
    complaint::Complaint,
    fault::Fault,
    tools::CallsMade,
    wire::{Chunk, Part},
};

/// The most that one question may bring, of everything that has to be kept: text of an answer,
/// thoughts and calls of tools.
pub(crate) const KEPT_BYTES: usize = 1024 * 1024;

/// What one question has brought so far. Whatever is kept of it is bounded by [`KEPT_BYTES`]. Has no
/// `Debug`: no log may hold any of it.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: CallsMade,
    pub(crate) finish_reason: Option<FinishReason>,
    /// More of the answer came after a reason for its end: this server gives one with every piece,
    /// so that none of them tells that the answer is whole.
    goes_on_after_reasons: bool,
    pub(crate) usage: Option<Usage>,
}

impl Heard {
    /// Whether there was a delta or a call, after which the question is not put again.
    pub(crate) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// Whether all of the answer is here, as far as anybody can tell before its end. An ordinary
    /// end of nothing is none: some servers give that reason with every thought, too.
    pub(crate) fn is_over(&self) -> bool {
        match self.finish_reason {
            None => false,
            Some(FinishReason::Stop) => self.has_begun() && !self.goes_on_after_reasons,
            Some(_) => !self.goes_on_after_reasons,
        }
    }

    /// Takes in a chunk, and answers the text that is new.
    pub(crate) fn take(&mut self, chunk: Chunk, key: Option<&str>) -> Result<String, Fault> {
        if let Some(error) = &chunk.error {
            return Err(Complaint::read(None, error, key).into());
        }
        // Some servers count along: the last count is the whole.
        self.usage = chunk.usage().or(self.usage);
        let (had_reason, before) = (self.finish_reason.is_some(), self.kept());
        let mut new = String::new();
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index.is_some_and(|index| index != 0) {
                continue;
            }
            if let Some(part) = choice.delta.or(choice.message) {
                new.push_str(&self.take_part(part)?);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(read_finish_reason(&reason)?);
            }
        }
        self.goes_on_after_reasons |= had_reason && self.kept() > before;
        Ok(new)
    }

    fn take_part(&mut self, part: Part) -> Result<String, Fault> {
        let content = part.content.map(crate::wire::Content::into_text);
        let mut text = content.unwrap_or_default() + &part.refusal.unwrap_or_default();
        remove_nul(&mut text);
        self.text.push_str(&text);
        self.reasoning
            .push_str(&part.reasoning_content.unwrap_or_default());
        for call in part.tool_calls.unwrap_or_default() {
            self.calls.take(call)?;
        }
        if self.kept() > KEPT_BYTES {
            return Err(Fault::Malformed("the upstream's answer is too large"));
        }
        Ok(text)
    }

    fn kept(&self) -> usize {
        self.text.len() + self.reasoning.len() + self.calls.bytes()
    }
}

/// Stores do not hold the character NUL.
fn remove_nul(text: &mut String) {
    if text.contains('\0') {
        *text = text.replace('\0', "\u{fffd}");
    }
}

/// The same, anywhere in a document.
pub(crate) fn without_nul(value: Value) -> Value {
    match value {
        Value::String(mut text) => {
            remove_nul(&mut text);
            Value::String(text)
        }
        Value::Array(items) => items.into_iter().map(without_nul).collect(),
        Value::Object(members) => {
            let clean = |(mut name, value): (String, Value)| {
                remove_nul(&mut name);
                (name, without_nul(value))
            };
            Value::Object(members.into_iter().map(clean).collect())
        }
        other => other,
    }
}

/// A reason that nobody here knows still says that the answer is whole: it counts as an ordinary
/// end.
fn read_finish_reason(word: &str) -> Result<FinishReason, Fault> {
    match word.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "model_length" => Ok(FinishReason::Length),
        "content_filter" | "safety" => Ok(FinishReason::ContentFilter),
        "error" => Err(Complaint::read(None, &Value::Null, None).into()),
        _ => Ok(FinishReason::Stop),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn take(heard: &mut Heard, chunk: Value) -> Result<String, Fault> {
        heard.take(serde_json::from_value(chunk).unwrap(), None)
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
    fn knows_why_an_answer_ended(#[case] word: &str, #[case] expected: FinishReason) {
        let mut heard = Heard::default();
        take(&mut heard, ended(word)).unwrap();
        assert_eq!(heard.finish_reason, Some(expected));
    }

    #[rstest]
    #[case::nothing(&[], false)]
    #[case::text(&[delta("Hi")], false)]
    #[case::text_and_then_a_reason(&[delta("Hi"), ended("stop")], true)]
    #[case::a_reason_and_then_tokens(&[delta("Hi"), ended("stop"), json!({"usage": {}})], true)]
    #[case::more_text_after_a_reason(&[delta("Hi"), ended("stop"), delta("!"), ended("stop")], false)]
    #[case::a_thought_with_a_reason(&[json!({"choices": [{"delta": {"reasoning_content": "hm"}, "finish_reason": "stop"}]})], false)]
    #[case::nothing_since_it_was_filtered(&[ended("content_filter")], true)]
    fn knows_when_an_answer_is_over(#[case] chunks: &[Value], #[case] expected: bool) {
        let mut heard = Heard::default();
        for chunk in chunks {
            take(&mut heard, chunk.clone()).unwrap();
        }
        assert_eq!(heard.is_over(), expected);
    }

    #[test]
    fn an_answer_that_ends_in_an_error_has_failed() {
        let mut heard = Heard::default();
        let failed = take(&mut heard, ended("error"));
        assert!(failed.unwrap_err().may_pass());
    }

    #[test]
    fn hears_the_first_choice_alone() {
        let mut heard = Heard::default();
        let choices = [
            json!({"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}),
            json!({"index": 0, "delta": {"content": "th"}}),
            json!({"index": null, "delta": {"content": "is"}}),
        ];
        assert_eq!(
            take(&mut heard, json!({"choices": choices})).unwrap(),
            "this"
        );
        assert_eq!(heard.finish_reason, None);
    }

    #[test]
    fn a_refusal_is_said_and_a_thought_is_not() {
        let mut heard = Heard::default();
        let chunk = json!({"choices": [{"delta": {"refusal": "No.", "reasoning_content": "hm"}}]});
        assert_eq!(take(&mut heard, chunk).unwrap(), "No.");
        assert_eq!(heard.reasoning, "hm");
    }

    #[test]
    fn the_last_good_count_of_tokens_holds() {
        let mut heard = Heard::default();
        for tokens in [json!(3), json!(5), json!(-1)] {
            let usage = json!({"usage": {"prompt_tokens": 9, "completion_tokens": tokens}});
            take(&mut heard, usage).unwrap();
        }
        let expected = Usage {
            input_tokens: 9,
            output_tokens: 5,
        };
        assert_eq!(heard.usage, Some(expected));
    }

    #[test]
    fn nothing_holds_the_character_that_stores_refuse() {
        let mut heard = Heard::default();
        assert_eq!(take(&mut heard, delta("a\0b")).unwrap(), "a\u{fffd}b");
        assert_eq!(
            without_nul(json!({"\0": ["\0", {"a": "\0"}]})),
            json!({"\u{fffd}": ["\u{fffd}", {"a": "\u{fffd}"}]})
        );
    }

    #[test]
    fn refuses_more_than_it_may_keep() {
        let mut heard = Heard::default();
        let half = "a".repeat(KEPT_BYTES / 2);
        take(&mut heard, delta(&half)).unwrap();
        take(
            &mut heard,
            json!({"choices": [{"delta": {"reasoning_content": half}}]}),
        )
        .unwrap();
        assert!(take(&mut heard, delta("a")).is_err());
    }
}
