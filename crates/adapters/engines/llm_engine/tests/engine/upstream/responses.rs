//! Responses and their parts.

use serde_json::{Value, json};

use super::{Response, Step};

fn send(text: impl Into<String>) -> Step {
    Step::Send(text.into().into_bytes())
}

/// The head of a chunked response.
pub(crate) fn head(media_type: &str) -> Step {
    send(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    ))
}

/// The head of a stream.
pub(crate) fn stream_head() -> Step {
    head("text/event-stream; charset=utf-8")
}

/// A chunk of a response.
pub(crate) fn piece(text: &str) -> Step {
    send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// An event with this data.
pub(crate) fn event(data: &Value) -> Step {
    piece(&format!("data: {data}\n\n"))
}

/// The end of a chunked response.
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

/// The finish reason.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// The token usage.
pub(crate) fn usage(input: i64, output: i64) -> Value {
    json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": output}})
}

/// A complete stream of these events.
pub(crate) fn stream(events: &[Value]) -> Response {
    let events = events.iter().map(event);
    let all = [stream_head()].into_iter().chain(events);
    all.chain([done(), end()]).collect()
}

/// A stream with a text.
pub(crate) fn text_stream(text: &str) -> Response {
    stream(&[delta(text), finish("stop")])
}

/// A stream with tool calls: id, function, arguments.
pub(crate) fn call_stream(calls: &[(&str, &str, &str)]) -> Response {
    let parts = calls.iter().enumerate().map(|(index, (id, name, arguments))| {
        json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    let parts: Vec<_> = parts.collect();
    let calls = json!({"choices": [{"index": 0, "delta": {"tool_calls": parts}}]});
    stream(&[calls, finish("tool_calls")])
}

/// A response with this status and a JSON body.
pub(crate) fn whole(status: u16, headers: &str, body: &Value) -> Response {
    let body = body.to_string();
    let length = body.len();
    vec![send(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))]
}

/// An error response without content.
pub(crate) fn status(status: u16) -> Response {
    whole(status, "", &json!({}))
}
