//! Serializes frames.

use std::fmt::Write as _;

use bytestring::ByteString;

use super::{Channel, ServerFrame};

/// Serializes a frame.
pub(crate) fn encode(frame: &ServerFrame) -> ByteString {
    // Frames contain only texts and numbers: serialization cannot fail.
    serde_json::to_string(frame).unwrap_or_default().into()
}

/// Serializes an event frame. `envelope` is the event, serialized once for all subscribers.
pub(crate) fn event_frame(
    channels: impl IntoIterator<Item = Channel>,
    envelope: &str,
) -> ByteString {
    const BESIDE: usize = 100;
    let mut text = String::with_capacity(envelope.len() + BESIDE);
    text.push_str(r#"{"type":"event","channels":["#);
    for (number, channel) in channels.into_iter().enumerate() {
        // Channel names need no escaping.
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, r#"{comma}"{channel}""#);
    }
    text.push_str(r#"],"event":"#);
    text.push_str(envelope);
    text.push('}');
    text.into()
}
