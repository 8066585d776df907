//! Frames, as messages.

use serde_json::{Value, json};

use super::{
    examples,
    message::{Message, SOCKET},
    replies,
    schemas::{component, reference, summary, variant},
};
use crate::{openapi::Missing, socket::frames::COMMANDS};

/// Frames of the server that are no replies: key and type.
const FRAMES: &[(&str, &str)] = &[
    ("event", "event"),
    ("caughtUp", "caughtUp"),
    ("resync", "resync"),
    ("unsubscribed", "unsubscribed"),
    ("serverPing", "ping"),
    ("goodbye", "goodbye"),
];

/// What is live: key, and the type of the live event.
const LIVE: &[(&str, &str)] = &[
    ("replyDelta", "reply.delta"),
    ("replySnapshot", "reply.snapshot"),
    ("toolCalled", "tool.called"),
    ("toolReturned", "tool.returned"),
    ("typingUpdated", "typing.updated"),
];

/// The keys of all messages that are sent without being a reply.
pub(super) fn told() -> impl Iterator<Item = &'static str> {
    FRAMES.iter().chain(LIVE).map(|(key, _)| *key)
}

/// Every command.
pub(super) fn commands(components: &Value) -> Result<Vec<Message>, Missing> {
    COMMANDS
        .iter()
        .map(|(name, component_name)| {
            let schema = component(components, component_name)?;
            let mut payload = schema.clone();
            payload["properties"]["type"] = json!({"type": "string", "const": name});
            Ok(Message {
                channel: SOCKET,
                key: name,
                name,
                summary: summary(schema),
                payload,
                headers: None,
                examples: examples::of_command(name),
            })
        })
        .collect()
}

/// Every frame of the server.
pub(super) fn said(components: &Value) -> Result<Vec<Message>, Missing> {
    let mut messages = replies::all(components)?;
    for (key, name) in FRAMES {
        let payload = variant(components, "ServerFrame", name)?;
        messages.push(frame(key, name, summary(&payload), payload));
    }
    for (key, name) in LIVE {
        let event = variant(components, "LiveEvent", name)?;
        let mut payload = variant(components, "ServerFrame", "live")?;
        let summary = summary(&event);
        payload["properties"]["event"] = event;
        messages.push(frame(key, "live", summary, payload));
    }
    Ok(messages)
}

fn frame(key: &'static str, name: &'static str, summary: String, payload: Value) -> Message {
    Message {
        channel: SOCKET,
        key,
        name,
        summary,
        payload,
        headers: None,
        examples: vec![examples::of_frame(key)],
    }
}

/// The payload of a reply whose other members are `members`.
pub(super) fn reply(
    components: &Value,
    is_ok: bool,
    member: &str,
    of: &str,
) -> Result<Value, Missing> {
    component(components, of)?;
    let id = &component(components, "ReplyFrame")?["properties"]["id"];
    let mut payload = json!({
        "type": "object",
        "required": ["type", "id", "ok", member],
        "properties": {
            "type": {"type": "string", "const": "reply"},
            "id": id,
            "ok": {"type": "boolean", "const": is_ok},
        },
    });
    payload["properties"][member] = reference(of);
    Ok(payload)
}
