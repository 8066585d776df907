//! What is said, in the words of chat completions.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The reply of an upstream that answers at once.
pub(super) const REPLY: &str = "Order 4711 is on its way and will be with you tomorrow.";

/// Stands around the time in a word.
const MARK: u8 = b'@';

/// When this process began to look at the time.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The event of a part of the reply.
pub(super) fn delta(text: &str) -> String {
    event(&chunk(&json!({ "content": text }), &Value::Null))
}

/// The event of a part of the reply that says when it was said.
pub(super) fn marked() -> String {
    let now = BEGINNING.elapsed().as_nanos();
    delta(&format!("@{now}@ "))
}

/// The events of the end.
pub(super) fn end() -> String {
    let mut usage = chunk(&json!({}), &Value::Null);
    usage["choices"] = json!([]);
    usage["usage"] = usage_told();
    let end = event(&chunk(&json!({}), &json!("stop")));
    format!("{end}{}data: [DONE]\n\n", event(&usage))
}

/// The whole reply as events.
pub(super) fn streamed() -> String {
    format!("{}{}", delta(REPLY), end())
}

/// The whole reply as an object.
pub(super) fn whole() -> String {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "mock",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": REPLY },
            "finish_reason": "stop",
        }],
        "usage": usage_told(),
    })
    .to_string()
}

/// The models that there are.
pub(super) fn models() -> String {
    json!({ "object": "list", "data": [{ "id": "mock", "object": "model" }] }).to_string()
}

/// Why there is no reply.
pub(super) fn error(code: &str) -> String {
    json!({ "error": { "message": "It cannot be done.", "type": code, "code": code } }).to_string()
}

fn chunk(delta: &Value, finish_reason: &Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    })
}

fn usage_told() -> Value {
    json!({ "prompt_tokens": 20, "completion_tokens": 12, "total_tokens": 32 })
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Finds the times in what is heard, however it is cut.
#[derive(Default)]
pub(crate) struct Marks {
    digits: Option<Vec<u8>>,
}

impl Marks {
    /// How long ago that was said of which the last byte is in this part.
    pub(crate) fn ages(&mut self, part: &[u8]) -> Vec<Duration> {
        let now = BEGINNING.elapsed();
        let mut ages = Vec::new();
        for byte in part {
            match (&mut self.digits, *byte) {
                (None, MARK) => self.digits = Some(Vec::new()),
                (None, _) => {}
                (Some(digits), byte @ b'0'..=b'9') => digits.push(byte),
                (Some(digits), byte) => {
                    let nanoseconds = std::str::from_utf8(digits).ok();
                    let nanoseconds = nanoseconds.and_then(|text| text.parse().ok());
                    if let (MARK, Some(nanoseconds)) = (byte, nanoseconds) {
                        let said = Duration::from_nanos(nanoseconds);
                        ages.push(now.saturating_sub(said));
                    }
                    self.digits = None;
                }
            }
        }
        ages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_json_but_the_last() {
        let all = format!("{}{}{}", delta("a \"b\"\n"), marked(), streamed());
        let events: Vec<_> = all.split_terminator("\n\n").collect();
        let (last, others) = events.split_last().unwrap();
        assert_eq!(*last, "data: [DONE]");
        for event in others {
            let data = event.strip_prefix("data: ").unwrap();
            serde_json::from_str::<Value>(data).unwrap();
        }
    }

    #[test]
    fn marks_are_found_however_they_are_cut() {
        let first = BEGINNING.elapsed();
        let said = format!("{}{}{}", delta("@0@ "), marked(), marked());
        for size in 1..said.len() {
            let mut marks = Marks::default();
            let parts = said.as_bytes().chunks(size);
            let before = BEGINNING.elapsed();
            let ages: Vec<_> = parts.flat_map(|part| marks.ages(part)).collect();
            let after = BEGINNING.elapsed();
            assert_eq!(ages.len(), 3, "{size}");
            assert!((before..=after).contains(&ages[0]), "{size}: {ages:?}");
            for age in &ages[1..] {
                assert!(first + *age <= after, "{size}: {ages:?}");
            }
        }
    }
}
