//! The position of a reader in a reply.

use domain::{
    Audience, ReasoningDelta, ReplyDelta, ToolCalled, ToolReturned, TurnEvent, live::attempt_of,
    tool_visibility::show_call,
};
use ports::ReplyPart;

use super::{progress::Progress, registry::TurnSubject};
use crate::engines::{PartialReply, ReplyPosition, ToolEvent};

/// The maximum size of a part's text for other nodes.
const MAX_PART_BYTES: usize = 64 * 1024;

/// The next step of a reader.
enum Step<'a> {
    Reasoning { from: usize, text: &'a str },
    Text { from: usize, text: &'a str },
    Tool { index: usize, event: ToolEvent },
}

/// A reader's position in a reply that grows.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReplyCursor {
    /// The position up to which it was read.
    read: ReplyPosition,
    /// The number of times that the turn was resumed before. What was read then is replaced.
    resumptions: u32,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyPiece {
    /// More of the model's reasoning.
    Reasoning(ReasoningDelta),
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
            ReplyPiece::Reasoning(delta) => Self::Reasoning(delta),
            ReplyPiece::Delta(delta) => Self::Delta(delta),
            ReplyPiece::ToolCalled(call) => Self::ToolCalled(call),
            ReplyPiece::ToolReturned(call) => Self::ToolReturned(call),
        }
    }
}

impl ReplyCursor {
    /// Returns the next piece that an audience sees: the reasoning so far, then text up to the next tool event, then
    /// that event.
    pub fn next(
        &mut self,
        subject: &TurnSubject,
        progress: &Progress,
        audience: Audience,
    ) -> Option<ReplyPiece> {
        loop {
            let piece = match self.advance(progress, usize::MAX)? {
                Step::Reasoning { from, text } => {
                    shown_reasoning(subject, progress, (from, text), audience)
                        .map(ReplyPiece::Reasoning)
                }
                Step::Text { from, text } => Some(ReplyPiece::Delta(ReplyDelta {
                    turn_id: subject.turn_id,
                    conversation_id: subject.stored_conversation(),
                    from,
                    to: from + text.len(),
                    text: text.to_owned(),
                    attempt: attempt_of(progress.reply.resumptions),
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
            Step::Reasoning { from, text } => ReplyPart::Reasoning {
                from,
                text: text.to_owned(),
                shown_to: progress.reply.reasoning.shown_to(),
            },
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

    /// Returns the reasoning that an audience sees and has not received.
    pub fn next_reasoning(
        &mut self,
        subject: &TurnSubject,
        progress: &Progress,
        audience: Audience,
    ) -> Option<ReasoningDelta> {
        self.enter(progress);
        let unread = self.advance_reasoning(progress, usize::MAX)?;
        shown_reasoning(subject, progress, unread, audience)
    }

    /// Returns to the start of the reasoning.
    pub const fn reread_reasoning(&mut self) {
        self.read.reasoning = 0;
    }

    /// Moves to the next step: at most `max_bytes` of reasoning, or of text up to the next tool event, or that event.
    fn advance<'a>(&mut self, progress: &'a Progress, max_bytes: usize) -> Option<Step<'a>> {
        self.enter(progress);
        if let Some((from, text)) = self.advance_reasoning(progress, max_bytes) {
            return Some(Step::Reasoning { from, text });
        }
        let text = progress.text();
        let tool = progress.reply.tools.get(self.read.tools);
        let end = tool.map_or(text.len(), |tool| tool.at.min(text.len()));
        if let Some(text) = text.get(self.read.text..end).filter(|it| !it.is_empty()) {
            let text = &text[..text.floor_char_boundary(max_bytes)];
            let from = self.read.text;
            self.read.text += text.len();
            return Some(Step::Text { from, text });
        }
        // A tool event after withheld text is withheld too.
        let event = *tool.filter(|tool| tool.at <= text.len())?;
        let index = self.read.tools;
        self.read.tools += 1;
        Some(Step::Tool { index, event })
    }

    fn advance_reasoning<'a>(
        &mut self,
        progress: &'a Progress,
        max_bytes: usize,
    ) -> Option<(usize, &'a str)> {
        let from = self.read.reasoning;
        let unread = progress.reasoning().get(from..)?;
        let text = &unread[..unread.floor_char_boundary(max_bytes)];
        self.read.reasoning += text.len();
        (!text.is_empty()).then_some((from, text))
    }

    /// Returns to the start if the turn was resumed.
    fn enter(&mut self, progress: &Progress) {
        if self.resumptions != progress.reply.resumptions {
            *self = Self {
                read: ReplyPosition::default(),
                resumptions: progress.reply.resumptions,
            };
        }
    }

    /// Returns the position from which the reply of a turn continues that has waited.
    pub(crate) const fn continuing(progress: &Progress) -> Self {
        Self {
            read: progress.reply.continued_at,
            resumptions: progress.reply.resumptions,
        }
    }

    /// Moves to the end of the text, and returns the whole text so far.
    pub fn catch_up<'a>(&mut self, progress: &'a Progress) -> &'a str {
        self.enter(progress);
        let text = progress.text();
        self.read.text = text.len();
        self.read.tools = progress.reply.tools.len();
        text
    }

    /// Returns whether everything so far was read.
    pub fn is_at_end_of(&self, progress: &Progress) -> bool {
        let end = ReplyPosition {
            reasoning: progress.reasoning().len(),
            text: progress.text().len(),
            tools: progress.reply.tools.len(),
        };
        self.read == end
    }

    /// Returns whether the text has become shorter than what was read.
    pub fn is_ahead_of(&self, progress: &Progress) -> bool {
        progress.text().len() < self.read.text
    }

    /// Returns the length of the unread reasoning and text, in bytes.
    pub fn unread(&self, progress: &Progress) -> usize {
        let reasoning = progress.reasoning().len();
        let text = progress.text().len();
        reasoning.saturating_sub(self.read.reasoning) + text.saturating_sub(self.read.text)
    }
}

/// Returns reasoning from a position as an audience sees it; `None` if it is not shown.
fn shown_reasoning(
    subject: &TurnSubject,
    progress: &Progress,
    (from, text): (usize, &str),
    audience: Audience,
) -> Option<ReasoningDelta> {
    let is_shown = audience.sees_reasoning(progress.reply.reasoning.shown_to());
    is_shown.then(|| ReasoningDelta {
        turn_id: subject.turn_id,
        conversation_id: subject.stored_conversation(),
        from,
        to: from + text.len(),
        text: text.to_owned(),
        attempt: attempt_of(progress.reply.resumptions),
    })
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
