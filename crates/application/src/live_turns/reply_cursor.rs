//! The position of a reader in a reply.

use domain::{
    Audience, ReplyDelta, ToolCalled, ToolReturned, TurnEvent, tool_visibility::show_call,
};
use ports::ReplyPart;

use super::{progress::Progress, registry::TurnSubject};
use crate::engines::{PartialReply, ToolEvent};

/// The maximum size of a part's text for other nodes.
const MAX_PART_BYTES: usize = 64 * 1024;

/// The next step of a reader.
enum Step<'a> {
    Text { from: usize, text: &'a str },
    Tool { index: usize, event: ToolEvent },
}

/// A reader's position in a reply that grows.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReplyCursor {
    /// The position in the text, in bytes.
    text: usize,
    /// The number of tool events that were read.
    tools: usize,
    /// The number of times that the turn was resumed before. What was read then is replaced.
    resumptions: u32,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyPiece {
    /// More text.
    Delta(ReplyDelta),
    /// The start of a tool call.
    ToolCalled(ToolCalled),
    /// The end of a tool call.
    ToolReturned(ToolReturned),
}

impl From<ReplyPiece> for TurnEvent {
    fn from(piece: ReplyPiece) -> Self {
        match piece {
            ReplyPiece::Delta(delta) => Self::Delta(delta),
            ReplyPiece::ToolCalled(call) => Self::ToolCalled(call),
            ReplyPiece::ToolReturned(call) => Self::ToolReturned(call),
        }
    }
}

impl ReplyCursor {
    /// Returns the next piece that an audience sees: text up to the next tool event, then that event.
    pub fn next(
        &mut self,
        subject: &TurnSubject,
        progress: &Progress,
        audience: Audience,
    ) -> Option<ReplyPiece> {
        loop {
            let piece = match self.advance(progress, usize::MAX)? {
                Step::Text { from, text } => Some(ReplyPiece::Delta(ReplyDelta {
                    turn_id: subject.turn_id,
                    conversation_id: subject.stored_conversation(),
                    from,
                    to: from + text.len(),
                    text: text.to_owned(),
                    attempt: domain::live::attempt_of(progress.reply.resumptions),
                })),
                Step::Tool { event, .. } => piece(subject, &progress.reply, event, audience),
            };
            if piece.is_some() {
                return piece;
            }
        }
    }

    /// Returns the next part for other nodes.
    pub(crate) fn next_part(&mut self, progress: &Progress) -> Option<ReplyPart> {
        Some(match self.advance(progress, MAX_PART_BYTES)? {
            Step::Text { from, text } => ReplyPart::Text {
                from,
                text: text.to_owned(),
            },
            Step::Tool { index, event } => {
                let mut call = progress.reply.call_of(event).clone();
                if !event.has_ended {
                    (call.status, call.result) = (String::new(), None);
                }
                ReplyPart::Tool {
                    index,
                    at: event.at,
                    has_ended: event.has_ended,
                    call: Box::new(call),
                }
            }
        })
    }

    /// Moves to the next step: at most `max_bytes` of text up to the next tool event, or that event.
    fn advance<'a>(&mut self, progress: &'a Progress, max_bytes: usize) -> Option<Step<'a>> {
        self.enter(progress);
        let text = progress.text();
        let tool = progress.reply.tools.get(self.tools);
        let end = tool.map_or(text.len(), |tool| tool.at.min(text.len()));
        if let Some(text) = text.get(self.text..end).filter(|text| !text.is_empty()) {
            let text = &text[..text.floor_char_boundary(max_bytes)];
            let from = self.text;
            self.text += text.len();
            return Some(Step::Text { from, text });
        }
        // A tool event after withheld text is withheld too.
        let event = *tool.filter(|tool| tool.at <= text.len())?;
        let index = self.tools;
        self.tools += 1;
        Some(Step::Tool { index, event })
    }

    /// Returns to the start if the turn was resumed.
    const fn enter(&mut self, progress: &Progress) {
        if self.resumptions != progress.reply.resumptions {
            *self = Self {
                text: 0,
                tools: 0,
                resumptions: progress.reply.resumptions,
            };
        }
    }

    /// Returns the position from which the reply of a turn continues that has waited.
    pub(crate) const fn continuing(progress: &Progress) -> Self {
        let (text, tools) = progress.reply.continued_at;
        Self {
            text,
            tools,
            resumptions: progress.reply.resumptions,
        }
    }

    /// Moves to the end, and returns the whole text so far.
    pub fn catch_up<'a>(&mut self, progress: &'a Progress) -> &'a str {
        let text = progress.text();
        *self = Self {
            text: text.len(),
            tools: progress.reply.tools.len(),
            resumptions: progress.reply.resumptions,
        };
        text
    }

    /// Returns whether everything so far was read.
    pub fn is_at_end_of(&self, progress: &Progress) -> bool {
        self.text == progress.text().len() && self.tools == progress.reply.tools.len()
    }

    /// Returns whether the text has become shorter than what was read.
    pub fn is_ahead_of(&self, progress: &Progress) -> bool {
        progress.text().len() < self.text
    }

    /// Returns the length of the unread text, in bytes.
    pub fn unread(&self, progress: &Progress) -> usize {
        progress.text().len().saturating_sub(self.text)
    }
}

/// Returns a tool event as an audience sees it; `None` if the call is not shown.
fn piece(
    subject: &TurnSubject,
    reply: &PartialReply,
    event: ToolEvent,
    audience: Audience,
) -> Option<ReplyPiece> {
    let (turn_id, conversation_id) = (subject.turn_id, subject.stored_conversation());
    let call = &*show_call(reply.call_of(event), audience)?;
    Some(if event.has_ended {
        ReplyPiece::ToolReturned(ToolReturned::of(turn_id, conversation_id, call))
    } else {
        ReplyPiece::ToolCalled(ToolCalled::of(turn_id, conversation_id, call))
    })
}
