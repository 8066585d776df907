//! The messages in streams of server-sent events.

use domain::EventType;
use kit::body::MissingComponent;
use serde_json::{Value, json};

use super::{
    examples,
    message::{CHAT, Channel, LOG, Message},
    schemas::{component, reference, summary},
};

/// The key of the message that requests a stream.
pub(super) const REQUEST: &str = "chatRequest";

/// The events of a chat's stream: key, type and component.
pub(super) const CHAT_EVENTS: &[(&str, &str, &str)] = &[
    ("chatTurnQueued", "turn.queued", "ChatTurnQueued"),
    ("chatTurnStarted", "turn.started", "ChatTurnStarted"),
    (
        "chatReasoningDelta",
        "reasoning.delta",
        "ChatReasoningDelta",
    ),
    ("chatReplyDelta", "reply.delta", "ChatReplyDelta"),
    ("chatToolCalled", "tool.called", "ChatToolCalled"),
    ("chatToolReturned", "tool.returned", "ChatToolReturned"),
    ("chatTurnCompleted", "turn.completed", "ChatTurnCompleted"),
    ("chatTurnFailed", "turn.failed", "ChatTurnFailed"),
    ("chatTurnCancelled", "turn.cancelled", "ChatTurnCancelled"),
];

/// Returns the messages of the log's stream.
pub(super) fn log(components: &Value) -> Result<Vec<Message>, MissingComponent> {
    let types: Vec<&str> = EventType::ALL.iter().map(EventType::as_str).collect();
    let mut event = event_message(components, LOG, "logEvent", "agent.created", "Event")?;
    event.headers = Some(json!({
        "type": "object",
        "required": ["id", "event"],
        "properties": {
            "id": {"type": "integer", "description": "The event's `seq`, for `Last-Event-ID`."},
            "event": {"type": "string", "enum": types, "description": "The event's type."},
        },
    }));
    let mut resync = event_message(components, LOG, "logResync", "resync", "Resync")?;
    resync.headers = Some(json!({
        "type": "object",
        "required": ["id", "event"],
        "properties": {
            "id": {"type": "integer", "description": "The `headSeq`, from which the stream continues."},
            "event": {"type": "string", "const": "resync"},
        },
    }));
    Ok(vec![event, resync])
}

/// Returns the request of a chat's stream, and its events.
pub(super) fn chat(components: &Value) -> Result<Vec<Message>, MissingComponent> {
    let mut messages = vec![Message {
        headers: None,
        summary: "Request a reply as a stream.".to_owned(),
        ..event_message(components, CHAT, REQUEST, REQUEST, "ChatRequest")?
    }];
    for (key, name, component) in CHAT_EVENTS {
        let mut message = event_message(components, CHAT, key, name, component)?;
        for example in &mut message.examples {
            example["type"] = (*name).into();
        }
        messages.push(message);
    }
    Ok(messages)
}

fn event_message(
    components: &Value,
    channel: Channel,
    key: &'static str,
    name: &'static str,
    of: &str,
) -> Result<Message, MissingComponent> {
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
        examples: vec![examples::frame_example(key)],
    })
}
