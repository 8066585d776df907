//! Responses in the format of Anthropic's API.

use serde_json::{Value, json};

use super::{Response, end, piece, stream_head};

/// The beginning of a message, with counts of tokens.
pub(crate) fn message_start(usage: &Value) -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-test",
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    }})
}

fn block(index: usize, start: &Value, deltas: &[Value]) -> Vec<Value> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let deltas = deltas.iter();
    let deltas =
        deltas.map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let stop = json!({"type": "content_block_stop", "index": index});
    [start].into_iter().chain(deltas).chain([stop]).collect()
}

/// A block of text.
pub(crate) fn text_block(index: usize, pieces: &[&str]) -> Vec<Value> {
    let pieces = pieces.iter();
    let deltas: Vec<_> = pieces
        .map(|piece| json!({"type": "text_delta", "text": piece}))
        .collect();
    block(index, &json!({"type": "text", "text": ""}), &deltas)
}

/// A block of reasoning with a signature.
pub(crate) fn thinking_block(index: usize, pieces: &[&str], signature: &str) -> Vec<Value> {
    let pieces = pieces.iter();
    let mut deltas: Vec<_> = pieces
        .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
        .collect();
    deltas.push(json!({"type": "signature_delta", "signature": signature}));
    let start = json!({"type": "thinking", "thinking": "", "signature": ""});
    block(index, &start, &deltas)
}

/// A block of reasoning that the provider hides.
pub(crate) fn redacted_block(index: usize, data: &str) -> Vec<Value> {
    block(
        index,
        &json!({"type": "redacted_thinking", "data": data}),
        &[],
    )
}

/// A block with a tool call, whose arguments arrive in these pieces.
pub(crate) fn call_block(index: usize, id: &str, name: &str, pieces: &[&str]) -> Vec<Value> {
    let pieces = pieces.iter();
    let deltas: Vec<_> = pieces
        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
        .collect();
    let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}});
    block(index, &start, &deltas)
}

/// The end of a message, with counts of tokens.
pub(crate) fn message_end(reason: &str, usage: &Value) -> Vec<Value> {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    vec![
        json!({"type": "message_delta", "delta": delta, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

/// Events with their names, as the provider sends them.
pub(crate) fn named(events: &[Value]) -> Response {
    let events = events.iter().map(|event| {
        let name = event["type"].as_str().expect("a type");
        piece(&format!("event: {name}\ndata: {event}\n\n"))
    });
    [stream_head()].into_iter().chain(events).collect()
}

/// A complete stream with these blocks, and a ping.
pub(crate) fn message(reason: &str, blocks: &[Vec<Value>]) -> Response {
    let start = message_start(&json!({"input_tokens": 9, "output_tokens": 1}));
    let all = [vec![start, json!({"type": "ping"})]].into_iter();
    let all = all.chain(blocks.iter().cloned());
    let all = all.chain([message_end(reason, &json!({"output_tokens": 5}))]);
    let events: Vec<_> = all.flatten().collect();
    named(&events).into_iter().chain([end()]).collect()
}
