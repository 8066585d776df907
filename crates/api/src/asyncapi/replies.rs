//! Replies, one message for each kind of result.

use serde_json::Value;

use super::{
    examples,
    message::{Message, SOCKET},
    socket::reply,
};
use crate::openapi::Missing;

/// The reply of a command that was not carried out.
pub(super) const REFUSAL: &str = "errorReply";

/// Key, component of the result, and what it says.
const RESULTS: &[(&str, &str, &str)] = &[
    (
        "connectReply",
        "ConnectResult",
        "Of `connect`: who this is, where the log stands, and what became of each channel.",
    ),
    (
        "subscribeReply",
        "SubscribeResult",
        "Of `subscribe`: where the log stands, and whether it reaches back to `since`.",
    ),
    (
        "turnReply",
        "TurnResult",
        "Of `chat` and `cancel`: the turn.",
    ),
    (
        "emptyReply",
        "EmptyResult",
        "Of every other command: it was carried out.",
    ),
];

/// The reply of a command that was carried out.
pub(super) fn of(command: &str) -> &'static str {
    match command {
        "connect" => "connectReply",
        "subscribe" => "subscribeReply",
        "chat" | "cancel" => "turnReply",
        _ => "emptyReply",
    }
}

/// All of them.
pub(super) fn all(components: &Value) -> Result<Vec<Message>, Missing> {
    let mut messages = Vec::new();
    for (key, component, summary) in RESULTS {
        let payload = reply(components, true, "result", component)?;
        messages.push(message(key, summary, payload));
    }
    let payload = reply(components, false, "error", "ProblemBody")?;
    let summary = "Of any command that was not carried out: why. `id` is null when it could not be \
                   read.";
    messages.push(message(REFUSAL, summary, payload));
    Ok(messages)
}

fn message(key: &'static str, summary: &str, payload: Value) -> Message {
    Message {
        channel: SOCKET,
        key,
        name: "reply",
        summary: summary.to_owned(),
        payload,
        headers: None,
        examples: vec![examples::of_frame(key)],
    }
}
