//! The messages of the document.

use serde_json::{Value, json};
use socket::frames::COMMANDS;

/// A channel of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Channel {
    /// The key in the document.
    pub(super) key: &'static str,
    /// The path.
    pub(super) address: &'static str,
}

/// The socket.
pub(super) const SOCKET: Channel = Channel {
    key: "socket",
    address: "/api/ws",
};
/// The event log as a stream.
pub(super) const LOG: Channel = Channel {
    key: "events",
    address: "/api/events",
};
/// A turn as a stream.
pub(super) const CHAT: Channel = Channel {
    key: "chat",
    address: "/api/chat",
};

/// The correlation ids of the document.
pub(super) fn correlation_ids() -> Value {
    json!({"command": {
        "description": "A command and its reply have the same id.",
        "location": "$message.payload#/id",
    }})
}

/// A message of the document.
pub(super) struct Message {
    pub(super) channel: Channel,
    /// The key in the document.
    pub(super) key: &'static str,
    /// The type on the wire.
    pub(super) name: &'static str,
    pub(super) summary: String,
    pub(super) payload: Value,
    /// The fields of a server-sent event beside the payload.
    pub(super) headers: Option<Value>,
    /// Example payloads.
    pub(super) examples: Vec<Value>,
}

impl Message {
    /// The message object of the document.
    pub(super) fn described(&self) -> Value {
        let examples = self.examples.iter().map(|example| match &self.headers {
            Some(_) => json!({"headers": {"event": self.name}, "payload": example}),
            None => json!({"payload": example}),
        });
        let mut described = json!({
            "name": self.name,
            "title": self.name,
            "summary": self.summary,
            "payload": self.payload,
            "examples": examples.collect::<Vec<_>>(),
        });
        if let Some(headers) = &self.headers {
            described["headers"] = headers.clone();
        }
        let is_command = COMMANDS.iter().any(|(name, _)| *name == self.key);
        if is_command || self.name == "reply" {
            described["correlationId"] = json!({"$ref": "#/components/correlationIds/command"});
        }
        described
    }
}
