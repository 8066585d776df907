//! The messages on sockets.

use kit::body::MissingComponent;
use serde_json::{Value, json};
use socket::frames::COMMANDS;

use super::{
    examples,
    message::{Message, SOCKET},
    replies,
    schemas::{component, reference, summary, variant},
};
use crate::openapi::pascal_case;

/// The frames of the server that are not replies: key and type.
const FRAMES: &[(&str, &str)] = &[
    ("event", "event"),
    ("caughtUp", "caughtUp"),
    ("resync", "resync"),
    ("unsubscribed", "unsubscribed"),
    ("serverPing", "ping"),
    ("goodbye", "goodbye"),
];

/// The live data: key, and the type of the live event.
const LIVE: &[(&str, &str)] = &[
    ("reasoningDelta", "reasoning.delta"),
    ("replyDelta", "reply.delta"),
    ("replySnapshot", "reply.snapshot"),
    ("toolCalled", "tool.called"),
    ("toolReturned", "tool.returned"),
    ("typingUpdated", "typing.updated"),
];

/// The keys of all messages that the server sends unrequested.
pub(super) fn server_messages() -> impl Iterator<Item = &'static str> {
    FRAMES.iter().chain(LIVE).map(|(key, _)| *key)
}

/// Returns a message for every command.
pub(super) fn commands(components: &Value) -> Result<Vec<Message>, MissingComponent> {
    COMMANDS
        .iter()
        .map(|(name, of)| {
            Ok(Message {
                channel: SOCKET,
                key: name,
                name,
                summary: summary(component(components, of)?),
                payload: reference(of),
                headers: None,
                examples: examples::command_examples(name),
            })
        })
        .collect()
}

/// Returns a message for every frame of the server.
pub(super) fn server_frames(components: &Value) -> Result<Vec<Message>, MissingComponent> {
    let mut messages = replies::all(components)?;
    for (key, name) in FRAMES {
        messages.push(frame(components, key, name, &frame_of(key))?);
    }
    for (key, _) in LIVE {
        messages.push(frame(components, key, "live", &frame_of(key))?);
    }
    Ok(messages)
}

/// Adds a component for each frame of the server that is not a reply, and for each live event.
pub(super) fn name_frames(components: &mut Value) -> Result<(), MissingComponent> {
    for (key, name) in FRAMES {
        components[frame_of(key)] = variant(components, "ServerFrame", name)?;
    }
    for (key, name) in LIVE {
        let event = variant(components, "LiveEvent", name)?;
        let mut frame = variant(components, "ServerFrame", "live")?;
        frame["description"] = event["description"].clone();
        let in_chat = format!("Chat{}", pascal_case(key));
        let of = if is_same(&components[&in_chat], &event) {
            in_chat
        } else {
            let live = format!("Live{}", pascal_case(key));
            components[&live] = event;
            live
        };
        frame["properties"]["event"] = reference(&of);
        components[frame_of(key)] = frame;
    }
    Ok(())
}

/// Returns whether two schemas differ at most in their descriptions.
fn is_same(one: &Value, other: &Value) -> bool {
    let members = |schema: &Value| {
        let mut members = schema.as_object().cloned().unwrap_or_default();
        members.remove("description");
        members
    };
    members(one) == members(other)
}

/// The name of the component for the frame of the message `key`.
pub(super) fn frame_of(key: &str) -> String {
    format!("{}Frame", pascal_case(key))
}

/// The message of a frame whose component is `of`.
pub(super) fn frame(
    components: &Value,
    key: &'static str,
    name: &'static str,
    of: &str,
) -> Result<Message, MissingComponent> {
    Ok(Message {
        channel: SOCKET,
        key,
        name,
        summary: summary(component(components, of)?),
        payload: reference(of),
        headers: None,
        examples: vec![examples::frame_example(key)],
    })
}

/// The schema of a reply with `member`, whose component is `of`.
pub(super) fn reply(
    components: &Value,
    is_ok: bool,
    member: &str,
    of: &str,
) -> Result<Value, MissingComponent> {
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
