//! From a frame to its text.

use std::fmt::Write as _;

use bytestring::ByteString;

use super::{Channel, ServerFrame};

/// The text of a frame.
pub fn encode(frame: &ServerFrame) -> ByteString {
    // Made of text and numbers: serializing cannot fail.
    serde_json::to_string(frame).unwrap_or_default().into()
}

/// The text of an event's frame. The envelope was serialized once for all who follow.
pub fn event_frame(channels: impl IntoIterator<Item = Channel>, envelope: &str) -> ByteString {
    const BESIDE: usize = 100;
    let mut text = String::with_capacity(envelope.len() + BESIDE);
    text.push_str(r#"{"type":"event","channels":["#);
    for (number, channel) in channels.into_iter().enumerate() {
        // Nothing in a channel's name has to be escaped.
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, r#"{comma}"{channel}""#);
    }
    text.push_str(r#"],"event":"#);
    text.push_str(envelope);
    text.push('}');
    text.into()
}
