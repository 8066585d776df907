//! Replies, one message for each kind of result.

use serde_json::Value;

use super::{
    message::Message,
    socket::{frame, frame_of, reply},
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
    let keys = RESULTS.iter().map(|(key, _, _)| *key).chain([REFUSAL]);
    keys.map(|key| frame(components, key, "reply", &frame_of(key)))
        .collect()
}

/// Adds a component for each of them.
pub(super) fn name_frames(components: &mut Value) -> Result<(), Missing> {
    for (key, result, summary) in RESULTS {
        let mut frame = reply(components, true, "result", result)?;
        frame["description"] = (*summary).into();
        components[frame_of(key)] = frame;
    }
    let mut refusal = reply(components, false, "error", "ProblemBody")?;
    refusal["description"] = "Of any command that was not carried out: why. `id` is null when it \
                              could not be read."
        .into();
    components[frame_of(REFUSAL)] = refusal;
    Ok(())
}
