//! The replies: one message for each kind of result.

use kit::body::MissingComponent;
use serde_json::Value;

use super::{
    message::Message,
    sockets::{frame, frame_of, reply},
};

/// The key of the reply to a command that was not executed.
pub(super) const ERROR: &str = "errorReply";

/// The key, the component of the result, and the description.
const RESULTS: &[(&str, &str, &str)] = &[
    (
        "connectReply",
        "ConnectResult",
        "The reply to `connect`: the caller's tenant, the head of the log, the limits, and the state of each channel.",
    ),
    (
        "subscribeReply",
        "SubscribeResult",
        "The reply to `subscribe`: the head of the log, and whether all events after `since` follow.",
    ),
    (
        "turnReply",
        "TurnResult",
        "The reply to `chat`, `cancel` and `act`: the turn.",
    ),
    (
        "emptyReply",
        "EmptyResult",
        "The reply to every other command: it was executed.",
    ),
];

/// The key of the reply to an executed command.
pub(super) fn success_key(command: &str) -> &'static str {
    match command {
        "connect" => "connectReply",
        "subscribe" => "subscribeReply",
        "chat" | "cancel" | "act" => "turnReply",
        _ => "emptyReply",
    }
}

/// Returns all replies.
pub(super) fn all(components: &Value) -> Result<Vec<Message>, MissingComponent> {
    let keys = RESULTS.iter().map(|(key, _, _)| *key).chain([ERROR]);
    keys.map(|key| frame(components, key, "reply", &frame_of(key)))
        .collect()
}

/// Adds a component for each reply.
pub(super) fn name_frames(components: &mut Value) -> Result<(), MissingComponent> {
    for (key, result, summary) in RESULTS {
        let mut frame = reply(components, true, "result", result)?;
        frame["description"] = (*summary).into();
        components[frame_of(key)] = frame;
    }
    let mut error = reply(components, false, "error", "ProblemBody")?;
    error["description"] = "The reply to a command that was not executed: the problem. `id` is \
                              null if it could not be read."
        .into();
    components[frame_of(ERROR)] = error;
    Ok(())
}
