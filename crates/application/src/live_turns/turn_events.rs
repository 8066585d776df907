//! The events of one turn, as its caller receives them.

use domain::{
    ChatReply, ConversationId, Problem, ReplyDelta, ToolCalled, ToolReturned, TurnId, TurnStarted,
};
use ports::{ReplyPart, RepositoryError};
use tokio_util::sync::DropGuard;

use super::{
    progress::{Progress, TurnOutcome},
    registry::TurnSubject,
    reply_readers::ReaderGuard,
    turn_waiter::TurnWaiter,
};
use crate::engines::{PartialReply, ToolEvent};

/// An event of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// The turn waits for another one.
    Queued {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation; `None` if nothing is stored.
        conversation_id: Option<ConversationId>,
    },
    /// The turn has started.
    Started(TurnStarted),
    /// More of the reply, or a tool call.
    Reply(ReplyPiece),
    /// The turn has completed.
    Completed(ChatReply),
    /// The turn has failed.
    Failed {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation; `None` if nothing is stored.
        conversation_id: Option<ConversationId>,
        /// The reason.
        error: Problem,
    },
    /// The turn was cancelled.
    Cancelled {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation; `None` if nothing is stored.
        conversation_id: Option<ConversationId>,
    },
}

/// The events of a turn, each once. Text that arrives between two calls of `next` is returned as
/// one piece, so that nothing is buffered for a slow reader.
pub struct TurnEventStream {
    turn: TurnWaiter,
    delivered: Delivered,
    /// Stops a turn that is not stored.
    _guard: Option<DropGuard>,
    /// Makes the node that runs the turn send its reply.
    _followed: Option<ReaderGuard>,
}

/// The events that were already returned.
#[derive(Default)]
struct Delivered {
    queued: bool,
    started: bool,
    reply: ReplyCursor,
    ended: bool,
}

impl TurnEventStream {
    pub(crate) fn new(turn: TurnWaiter, guard: Option<DropGuard>) -> Self {
        turn.follow_reply();
        Self {
            _followed: turn.live.follow_if_remote(),
            turn,
            delivered: Delivered::default(),
            _guard: guard,
        }
    }

    /// Returns whether this process runs the turn.
    pub fn runs_here(&self) -> bool {
        self.turn.live.local_node().is_some()
    }

    /// Waits for the next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<TurnEvent, RepositoryError>> {
        loop {
            if self.delivered.ended {
                return None;
            }
            if let Some(event) = self.next_ready() {
                return Some(Ok(event));
            }
            if let Err(error) = self.turn.changed().await {
                self.delivered.ended = true;
                return Some(Err(error));
            }
        }
    }

    /// Returns the next event if it has happened already.
    pub fn next_ready(&mut self) -> Option<TurnEvent> {
        if self.delivered.ended {
            return None;
        }
        let subject = self.turn.live.subject();
        let (turn_id, conversation_id) = (subject.turn_id, subject.stored_conversation());
        let progress = self.turn.live.progress();
        let delivered = &mut self.delivered;
        // Returned even if the turn has started since.
        if progress.was_queued && !delivered.started && !delivered.queued {
            delivered.queued = true;
            return Some(TurnEvent::Queued {
                turn_id,
                conversation_id,
            });
        }
        if let Some(started) = progress.started.filter(|_| !delivered.started) {
            delivered.started = true;
            return Some(TurnEvent::Started(started));
        }
        if let Some(piece) = delivered.reply.next(subject, &progress) {
            return Some(TurnEvent::Reply(piece));
        }
        let outcome = progress.outcome.as_ref()?;
        delivered.ended = true;
        Some(match outcome {
            TurnOutcome::Completed(completed) => TurnEvent::Completed(completed.reply.clone()),
            TurnOutcome::Failed(problem) => TurnEvent::Failed {
                turn_id,
                conversation_id,
                error: problem.clone(),
            },
            TurnOutcome::Cancelled => TurnEvent::Cancelled {
                turn_id,
                conversation_id,
            },
        })
    }
}

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

impl ReplyCursor {
    /// Returns the next piece: text up to the next tool event, then that event.
    pub fn next(&mut self, subject: &TurnSubject, progress: &Progress) -> Option<ReplyPiece> {
        Some(match self.advance(progress, usize::MAX)? {
            Step::Text { from, text } => ReplyPiece::Delta(ReplyDelta {
                turn_id: subject.turn_id,
                conversation_id: subject.stored_conversation(),
                from,
                to: from + text.len(),
                text: text.to_owned(),
            }),
            Step::Tool { event, .. } => piece(subject, &progress.reply, event),
        })
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
                    call,
                }
            }
        })
    }

    /// Moves to the next step: at most `max_bytes` of text up to the next tool event, or that event.
    fn advance<'a>(&mut self, progress: &'a Progress, max_bytes: usize) -> Option<Step<'a>> {
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

    /// Moves to the end, and returns the whole text so far.
    pub fn catch_up<'a>(&mut self, progress: &'a Progress) -> &'a str {
        let text = progress.text();
        *self = Self {
            text: text.len(),
            tools: progress.reply.tools.len(),
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

fn piece(subject: &TurnSubject, reply: &PartialReply, event: ToolEvent) -> ReplyPiece {
    let (turn_id, conversation_id) = (subject.turn_id, subject.stored_conversation());
    let call = reply.call_of(event);
    if event.has_ended {
        let returned = ToolReturned::of(turn_id, conversation_id, call);
        return ReplyPiece::ToolReturned(returned);
    }
    ReplyPiece::ToolCalled(ToolCalled {
        turn_id,
        conversation_id,
        id: call.id.clone(),
        at: call.at,
        name: call.name.clone(),
        arguments: call.arguments.as_object().cloned().unwrap_or_default(),
    })
}
