//! Chat completions: complete, streamed, and with send times.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The reply of [`super::ResponseMode::Instant`], and the words of other replies.
pub(super) const REPLY: &str = "Order 4711 is on its way and will be with you tomorrow.";

/// Delimits the send time in a word.
const MARK: u8 = b'@';

/// The origin of the send times.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the event of a part of the reply.
pub(super) fn delta(text: &str) -> String {
    event(&chunk(&json!({ "content": text }), &Value::Null))
}

/// Returns the event of a word with its send time.
pub(super) fn timed_word() -> String {
    let now = ORIGIN.elapsed().as_nanos();
    delta(&format!("@{now}@ "))
}

/// Returns the last events of a stream.
pub(super) fn end() -> String {
    end_with("stop")
}

fn end_with(finish_reason: &str) -> String {
    let mut last = chunk(&json!({}), &Value::Null);
    last["choices"] = json!([]);
    last["usage"] = usage();
    let end = event(&chunk(&json!({}), &json!(finish_reason)));
    format!("{end}{}data: [DONE]\n\n", event(&last))
}

/// Returns a complete stream that calls the calculator.
pub(super) fn call() -> String {
    let function =
        json!({ "name": "calculator", "arguments": json!({ "expression": "2 + 3" }).to_string() });
    let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
    let delta = chunk(&json!({ "tool_calls": [call] }), &Value::Null);
    format!("{}{}", event(&delta), end_with("tool_calls"))
}

/// Returns a complete stream.
pub(super) fn streamed() -> String {
    format!("{}{}", delta(REPLY), end())
}

/// Returns the events of a complete stream of `pieces` parts.
pub(super) fn pieces(pieces: usize) -> impl Iterator<Item = String> {
    let parts = REPLY.split_inclusive(' ').cycle().take(pieces);
    parts.map(delta).chain([end()])
}

/// Returns the complete reply as an object.
pub(super) fn full() -> String {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "mock",
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": REPLY },
            "finish_reason": "stop",
        }],
        "usage": usage(),
    })
    .to_string()
}

/// Returns the list of models.
pub(super) fn models() -> String {
    json!({ "object": "list", "data": [{ "id": "mock", "object": "model" }] }).to_string()
}

/// Returns an error object.
pub(super) fn error(code: &str) -> String {
    json!({ "error": { "message": "The request failed.", "type": code, "code": code } }).to_string()
}

fn chunk(delta: &Value, finish_reason: &Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 20, "completion_tokens": 12, "total_tokens": 32 })
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Finds send times in a stream of bytes, however it is split into chunks.
#[derive(Default)]
pub struct SendTimeParser {
    digits: Option<Vec<u8>>,
}

impl SendTimeParser {
    /// Returns the age of each word whose last byte is in this chunk.
    pub fn ages(&mut self, chunk: &[u8]) -> Vec<Duration> {
        let now = ORIGIN.elapsed();
        let mut ages = Vec::new();
        for byte in chunk {
            match (&mut self.digits, *byte) {
                (None, MARK) => self.digits = Some(Vec::new()),
                (None, _) => {}
                (Some(digits), byte @ b'0'..=b'9') => digits.push(byte),
                (Some(digits), byte) => {
                    let nanoseconds = std::str::from_utf8(digits).ok();
                    let nanoseconds = nanoseconds.and_then(|text| text.parse().ok());
                    if let (MARK, Some(nanoseconds)) = (byte, nanoseconds) {
                        let sent = Duration::from_nanos(nanoseconds);
                        ages.push(now.saturating_sub(sent));
                    }
                    self.digits = None;
                }
            }
        }
        ages
    }
}
