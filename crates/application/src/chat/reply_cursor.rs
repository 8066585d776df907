//! How far somebody has been told of a reply.

use domain::{ReplyDelta, ToolCalled, ToolReturned};

use super::{
    live_turn::TurnSubject,
    progress::Progress,
    said::{Said, ToolEvent},
};

/// How far somebody has been told of a reply while it is spoken.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReplyCursor {
    /// How much of the text, in bytes.
    text: usize,
    /// How many steps of tools.
    tools: usize,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyPiece {
    /// More text.
    Delta(ReplyDelta),
    /// A tool is called.
    ToolCalled(ToolCalled),
    /// A call has ended.
    ToolReturned(ToolReturned),
}

impl ReplyCursor {
    /// Takes the next piece that may be told: text up to where a tool was called, and then that.
    pub fn next(&mut self, subject: &TurnSubject, progress: &Progress) -> Option<ReplyPiece> {
        let text = progress.text();
        let tool = progress.said.tools.get(self.tools);
        let end = tool.map_or(text.len(), |tool| tool.at.min(text.len()));
        if let Some(text) = text.get(self.text..end).filter(|text| !text.is_empty()) {
            let from = std::mem::replace(&mut self.text, end);
            return Some(ReplyPiece::Delta(ReplyDelta {
                turn_id: subject.turn_id,
                conversation_id: subject.conversation_id,
                from,
                to: end,
                text: text.to_owned(),
            }));
        }
        // What came after text that is held back is held back with it.
        let tool = tool.filter(|tool| tool.at <= text.len())?;
        self.tools += 1;
        Some(piece(subject, &progress.said, *tool))
    }

    /// Passes over all that was said so far; answers the text, for whoever is told it as a whole.
    pub fn catch_up<'a>(&mut self, progress: &'a Progress) -> &'a str {
        let text = progress.text();
        *self = Self {
            text: text.len(),
            tools: progress.said.tools.len(),
        };
        text
    }

    /// Whether all that can be told was told, and nothing else.
    pub fn is_at_end_of(&self, progress: &Progress) -> bool {
        self.text == progress.text().len() && self.tools == progress.said.tools.len()
    }

    /// Whether the text is shorter than what was told.
    pub fn is_ahead_of(&self, progress: &Progress) -> bool {
        progress.text().len() < self.text
    }

    /// How much text can be told, in bytes.
    pub fn untold(&self, progress: &Progress) -> usize {
        progress.text().len().saturating_sub(self.text)
    }
}

fn piece(subject: &TurnSubject, said: &Said, event: ToolEvent) -> ReplyPiece {
    let (turn_id, conversation_id) = (subject.turn_id, subject.conversation_id);
    let call = said.call_of(event);
    if event.has_ended {
        let returned = ToolReturned::of(turn_id, conversation_id, call);
        return ReplyPiece::ToolReturned(returned);
    }
    ReplyPiece::ToolCalled(ToolCalled {
        turn_id,
        conversation_id,
        name: call.name.clone(),
        arguments: call.arguments.as_object().cloned().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use domain::ToolCall;
    use serde_json::{Map, json};

    use super::{super::stored_turn::subject, *};
    use crate::chat::ToolStep;

    fn called(progress: &mut Progress) {
        let step = ToolStep::Called {
            name: "time".to_owned(),
            arguments: Map::new(),
        };
        assert!(progress.said.note(step));
    }

    fn returned(progress: &mut Progress) {
        let step = ToolStep::Returned(ToolCall {
            name: "time".to_owned(),
            arguments: json!({}),
            status: "ok".to_owned(),
            duration_ms: 3,
        });
        assert!(progress.said.note(step));
    }

    /// All that can be told, in short.
    fn all(cursor: &mut ReplyCursor, progress: &Progress) -> Vec<String> {
        let pieces = std::iter::from_fn(|| cursor.next(&subject(), progress));
        let short = pieces.map(|piece| match piece {
            ReplyPiece::Delta(delta) => format!("{}..{} {}", delta.from, delta.to, delta.text),
            ReplyPiece::ToolCalled(call) => format!("called {}", call.name),
            ReplyPiece::ToolReturned(call) => format!("returned {}", call.status),
        });
        short.collect()
    }

    #[test]
    fn text_and_tools_are_told_in_the_order_in_which_they_came() {
        let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
        progress.said.text.push_str("Let me look. ");
        called(&mut progress);
        returned(&mut progress);
        progress.said.text.push_str("It is noon.");
        let expected = [
            "0..13 Let me look. ",
            "called time",
            "returned ok",
            "13..24 It is noon.",
        ];
        assert_eq!(all(&mut cursor, &progress), expected);
        called(&mut progress);
        assert_eq!(all(&mut cursor, &progress), ["called time"]);
        assert_eq!(all(&mut cursor, &progress), Vec::<String>::new());
    }

    #[test]
    fn who_has_caught_up_is_told_what_comes_after() {
        let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
        progress.said.text.push_str("One");
        called(&mut progress);
        assert!(!cursor.is_at_end_of(&progress));
        assert_eq!(cursor.catch_up(&progress), "One");
        assert!(cursor.is_at_end_of(&progress));
        returned(&mut progress);
        progress.said.text.push_str(" two");
        assert_eq!(all(&mut cursor, &progress), ["returned ok", "3..7  two"]);
    }

    #[test]
    fn what_a_cancellation_holds_back_is_not_told() {
        let (mut progress, mut cursor) = (Progress::default(), ReplyCursor::default());
        progress.said.text.push_str("One");
        progress.hold();
        progress.said.text.push_str(" two");
        called(&mut progress);
        assert_eq!(all(&mut cursor, &progress), ["0..3 One"]);
        progress.release();
        assert_eq!(all(&mut cursor, &progress), ["3..7  two", "called time"]);
    }
}
