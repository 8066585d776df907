//! Server-sent events, as messages.

use domain::EventType;
use serde_json::{Value, json};

use super::{
    examples,
    message::{CHAT, Channel, LOG, Message},
    schemas::{component, reference, summary},
};
use crate::openapi::Missing;

/// The key of the message that asks for a stream.
pub(super) const REQUEST: &str = "chatRequest";

/// What a chat's stream tells: key, type and component.
pub(super) const TOLD: &[(&str, &str, &str)] = &[
    ("chatTurnQueued", "turn.queued", "ChatTurnQueued"),
    ("chatTurnStarted", "turn.started", "ChatTurnStarted"),
    ("chatReplyDelta", "reply.delta", "ChatReplyDelta"),
    ("chatToolCalled", "tool.called", "ChatToolCalled"),
    ("chatToolReturned", "tool.returned", "ChatToolReturned"),
    ("chatTurnCompleted", "turn.completed", "ChatTurnCompleted"),
    ("chatTurnFailed", "turn.failed", "ChatTurnFailed"),
    ("chatTurnCancelled", "turn.cancelled", "ChatTurnCancelled"),
];

/// What the log's stream tells.
pub(super) fn log(components: &Value) -> Result<Vec<Message>, Missing> {
    let types: Vec<&str> = EventType::ALL.iter().map(|kind| kind.as_str()).collect();
    let mut event = told(components, LOG, "logEvent", "agent.created", "Event")?;
    event.headers = Some(json!({
        "type": "object",
        "required": ["id", "event"],
        "properties": {
            "id": {"type": "integer", "description": "The event's `seq`, for `Last-Event-ID`."},
            "event": {"type": "string", "enum": types, "description": "The event's type."},
        },
    }));
    let mut resync = told(components, LOG, "logResync", "resync", "Resync")?;
    resync.headers = Some(json!({
        "type": "object",
        "required": ["id", "event"],
        "properties": {
            "id": {"type": "integer", "description": "The `headSeq`, where the stream goes on."},
            "event": {"type": "string", "const": "resync"},
        },
    }));
    Ok(vec![event, resync])
}

/// What asks for a chat's stream, and what it tells.
pub(super) fn chat(components: &Value) -> Result<Vec<Message>, Missing> {
    let mut messages = vec![Message {
        headers: None,
        summary: "Ask for a reply as a stream.".to_owned(),
        ..told(components, CHAT, REQUEST, REQUEST, "ChatRequest")?
    }];
    for (key, name, component) in TOLD {
        let mut message = told(components, CHAT, key, name, component)?;
        for example in &mut message.examples {
            example["type"] = (*name).into();
        }
        messages.push(message);
    }
    Ok(messages)
}

fn told(
    components: &Value,
    channel: Channel,
    key: &'static str,
    name: &'static str,
    of: &str,
) -> Result<Message, Missing> {
    Ok(Message {
        channel,
        key,
        name,
        summary: summary(component(components, of)?),
        payload: reference(of),
        headers: Some(json!({
            "type": "object",
            "required": ["event"],
            "properties": {"event": {"type": "string", "const": name}},
        })),
        examples: vec![examples::of_frame(key)],
    })
}
