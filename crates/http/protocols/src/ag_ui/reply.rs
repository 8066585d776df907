//! The messages of a reply.
//!
//! Most clients show the tool calls of a message below its text. For them, text that follows calls is
//! a message of its own, so that a reply is shown in its order. Those that show the parts of a message
//! in their order receive one message, since they replace one message when they join a run again.

use domain::{MessageId, ToolCall};

/// A reply, up to its last text or call.
#[derive(Debug, Default)]
pub(super) struct Reply {
    id: String,
    /// The number of messages that were begun after the first one.
    later: usize,
    /// The id of the current message.
    message_id: String,
    has_calls: bool,
    is_one_message: bool,
}

impl Reply {
    /// Creates a reply without text and calls.
    pub(super) fn new(id: MessageId, is_one_message: bool) -> Self {
        let id = id.to_string();
        Self {
            message_id: id.clone(),
            id,
            later: 0,
            has_calls: false,
            is_one_message,
        }
    }

    /// Returns the id of the current message: the first one has that of the reply.
    pub(super) fn message_id(&self) -> &str {
        &self.message_id
    }

    /// Begins a text: in the current message or, after calls, in the next one.
    pub(super) fn add_text(&mut self) {
        let has_calls = std::mem::take(&mut self.has_calls);
        if has_calls && !self.is_one_message {
            self.later += 1;
            self.message_id = format!("{}-{}", self.id, self.later + 1);
        }
    }

    /// Adds a call to the current message.
    pub(super) const fn add_call(&mut self) {
        self.has_calls = true;
    }
}

/// A message of a stored reply.
#[derive(Debug, PartialEq)]
pub(super) struct Segment<'a> {
    pub(super) id: String,
    pub(super) text: &'a str,
    pub(super) calls: &'a [ToolCall],
}

/// Returns the messages of a stored reply, with the ids that they had while it was streamed.
pub(super) fn segments<'a>(
    id: MessageId,
    text: &'a str,
    calls: &'a [ToolCall],
) -> Vec<Segment<'a>> {
    let mut reply = Reply::new(id, false);
    let mut segments = Vec::new();
    let (mut position, mut rest) = (0, calls);
    loop {
        let end = rest.first().map_or(text.len(), |call| call.at);
        let part = text.get(position..end).unwrap_or_default();
        if !part.is_empty() {
            reply.add_text();
        }
        position = end.max(position);
        let together = rest.iter().take_while(|call| call.at <= position).count();
        let (calls, later) = rest.split_at(together);
        rest = later;
        if !calls.is_empty() {
            reply.add_call();
        }
        if !part.is_empty() || !calls.is_empty() || segments.is_empty() {
            segments.push(Segment {
                id: reply.message_id().to_owned(),
                text: part,
                calls,
            });
        }
        if calls.is_empty() {
            return segments;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn call(at: usize) -> ToolCall {
        serde_json::from_value(json!({
            "id": at.to_string(), "at": at, "name": "clock", "arguments": {}, "status": "ok",
            "durationMs": 1,
        }))
        .unwrap()
    }

    #[test]
    fn text_after_calls_is_a_message_of_its_own() {
        let id = MessageId::new(Uuid::nil());
        let parts = |text: &str, calls: &[ToolCall]| -> Vec<(String, String, usize)> {
            let segments = segments(id, text, calls);
            let part = |it: Segment<'_>| (it.id, it.text.to_owned(), it.calls.len());
            segments.into_iter().map(part).collect()
        };
        let expected = |parts: &[(&str, &str, usize)]| -> Vec<(String, String, usize)> {
            let part = |(end, text, calls): &(&str, &str, usize)| {
                (format!("{id}{end}"), (*text).to_owned(), *calls)
            };
            parts.iter().map(part).collect()
        };
        assert_eq!(parts("", &[]), expected(&[("", "", 0)]));
        assert_eq!(parts("abc", &[]), expected(&[("", "abc", 0)]));
        assert_eq!(
            parts("abc", &[call(0), call(0)]),
            expected(&[("", "", 2), ("-2", "abc", 0)])
        );
        assert_eq!(
            parts("abc", &[call(1), call(1), call(2)]),
            expected(&[("", "a", 2), ("-2", "b", 1), ("-3", "c", 0)])
        );
        assert_eq!(parts("abc", &[call(3)]), expected(&[("", "abc", 1)]));
    }
}
