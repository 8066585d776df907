//! What one question has brought so far.

use domain::{FinishReason, Usage};
use serde_json::Value;

use crate::{
    fault::{Complaint, Fault},
    tools::CallsMade,
    wire::{Chunk, Part},
};

/// The most that one question may bring, of everything that has to be kept: text of an answer,
/// thoughts and calls of tools.
pub(crate) const KEPT_BYTES: usize = 1024 * 1024;

/// What one question has brought so far. Whatever is kept of it is bounded by [`KEPT_BYTES`].
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: CallsMade,
    pub(crate) finish_reason: Option<FinishReason>,
    pub(crate) usage: Option<Usage>,
}

impl Heard {
    /// Whether there was a delta or a call, after which the question is not put again.
    pub(crate) fn has_begun(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    /// Takes in a chunk, and answers the text that is new.
    pub(crate) fn take(&mut self, chunk: Chunk, key: Option<&str>) -> Result<String, Fault> {
        if let Some(error) = &chunk.error {
            return Err(Complaint::read(None, error, key).into());
        }
        if let Some(tokens) = chunk.usage {
            // Some servers count along: the last count is the whole.
            self.usage = Some(tokens.usage());
        }
        let mut new = String::new();
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index != 0 {
                continue;
            }
            if let Some(part) = choice.delta.or(choice.message) {
                new.push_str(&self.take_part(part)?);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(read_finish_reason(&reason)?);
            }
        }
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
        let kept = self.text.len() + self.reasoning.len() + self.calls.bytes();
        if kept > KEPT_BYTES {
            return Err(Fault::Malformed("the upstream's answer is too large"));
        }
        Ok(text)
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

    #[rstest]
    #[case("stop", FinishReason::Stop)]
    #[case("length", FinishReason::Length)]
    #[case("MAX_TOKENS", FinishReason::Length)]
    #[case("content_filter", FinishReason::ContentFilter)]
    #[case("tool_calls", FinishReason::Stop)]
    #[case("eos", FinishReason::Stop)]
    fn knows_why_an_answer_ended(#[case] word: &str, #[case] expected: FinishReason) {
        let mut heard = Heard::default();
        take(&mut heard, json!({"choices": [{"finish_reason": word}]})).unwrap();
        assert_eq!(heard.finish_reason, Some(expected));
    }

    #[test]
    fn an_answer_that_ends_in_an_error_has_failed() {
        let mut heard = Heard::default();
        let failed = take(&mut heard, json!({"choices": [{"finish_reason": "error"}]}));
        assert!(failed.unwrap_err().may_pass());
    }

    #[test]
    fn hears_the_first_choice_alone() {
        let mut heard = Heard::default();
        let choices = [
            json!({"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}),
            json!({"index": 0, "delta": {"content": "this"}}),
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
    fn the_last_count_of_tokens_holds() {
        let mut heard = Heard::default();
        for tokens in [3, 5] {
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
