//! Answers, and what they are made of.

use serde_json::{Value, json};

use super::{Answer, Step};

fn send(text: impl Into<String>) -> Step {
    Step::Send(text.into().into_bytes())
}

/// The head of an answer that comes in pieces.
pub(crate) fn head(media_type: &str) -> Step {
    send(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    ))
}

/// The head of a stream.
pub(crate) fn stream_head() -> Step {
    head("text/event-stream; charset=utf-8")
}

/// A piece of an answer.
pub(crate) fn piece(text: &str) -> Step {
    send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// An event with this data.
pub(crate) fn event(data: &Value) -> Step {
    piece(&format!("data: {data}\n\n"))
}

/// The end of an answer that came in pieces.
pub(crate) fn end() -> Step {
    send("0\r\n\r\n")
}

/// The last event.
pub(crate) fn done() -> Step {
    piece("data: [DONE]\n\n")
}

/// More text.
pub(crate) fn delta(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

/// Why the answer ends.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// The tokens.
pub(crate) fn usage(input: i64, output: i64) -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}})
}

/// A stream of these events, whole.
pub(crate) fn stream(events: &[Value]) -> Answer {
    let events = events.iter().map(event);
    let all = [stream_head()].into_iter().chain(events);
    all.chain([done(), end()]).collect()
}

/// A stream that says a text.
pub(crate) fn saying(text: &str) -> Answer {
    stream(&[delta(text), finish("stop")])
}

/// A stream that calls tools: id, function, arguments.
pub(crate) fn calling(calls: &[(&str, &str, &str)]) -> Answer {
    let parts = calls.iter().enumerate().map(|(index, (id, name, arguments))| {
        json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    let parts: Vec<_> = parts.collect();
    let calls = json!({"choices": [{"index": 0, "delta": {"tool_calls": parts}}]});
    stream(&[calls, finish("tool_calls")])
}

/// A whole answer of this status, with a body that is JSON.
pub(crate) fn whole(status: u16, headers: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let length = body.len();
    vec![send(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))]
}

/// A refusal that says nothing.
pub(crate) fn status(status: u16) -> Answer {
    whole(status, "", &json!({}))
}
