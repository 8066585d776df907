//! The progress of a turn, and its outcome.

use std::time::Duration;

use domain::{ChatReply, NodeId, Problem, ProblemCode, Seq, Turn, TurnStarted, TurnStatus};

use crate::engines::PartialReply;

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOutcome {
    /// The turn has a reply.
    Completed(CompletedChat),
    /// The turn has no reply.
    Failed(Problem),
    /// The turn was cancelled, or deleted.
    Cancelled,
    /// The turn waits for an answer to a tool call. Whoever answers it follows it anew.
    RequiresAction(CompletedChat),
}

impl TurnOutcome {
    /// Returns the outcome of a stored turn; `None` if it has not ended.
    pub(crate) fn of_stored(turn: Turn) -> Option<Self> {
        Some(match turn.status {
            TurnStatus::Queued | TurnStatus::InProgress => return None,
            TurnStatus::Cancelled => Self::Cancelled,
            TurnStatus::Failed => Self::Failed(
                turn.error
                    .unwrap_or_else(|| Problem::new(ProblemCode::Internal)),
            ),
            TurnStatus::RequiresAction => {
                Self::RequiresAction(CompletedChat::replayed(chat_reply_of(turn)?))
            }
            TurnStatus::Completed => match chat_reply_of(turn) {
                Some(reply) => Self::Completed(CompletedChat::replayed(reply)),
                None => Self::Failed(Problem::new(ProblemCode::Internal)),
            },
        })
    }
}

/// Returns the reply of a turn that has one or needs none; `None` if the stored turn lacks a part of it.
fn chat_reply_of(turn: Turn) -> Option<ChatReply> {
    let reply = turn.reply.as_ref();
    Some(ChatReply {
        message: reply.map_or_else(String::new, |reply| reply.content.clone()),
        conversation_id: Some(turn.conversation_id),
        turn_id: turn.id,
        message_id: reply.map(|reply| reply.id),
        agent_id: turn.agent_id,
        agent_version: turn.agent_version?,
        engine: turn.engine,
        model: turn.model,
        degraded: turn.degraded,
        finish_reason: turn.finish_reason?,
        usage: turn.usage,
        output: turn.output,
        repaired: turn.repaired,
        tool_calls: ChatReply::calls_of_turn(&turn.tool_calls),
        created_at: reply.map(|reply| reply.created_at).or(turn.finished_at)?,
        seq: None,
    })
}

/// A completed chat and the time that it took.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedChat {
    /// The reply.
    pub reply: ChatReply,
    /// The position of the event log after the turn's end, if this process has stored it.
    pub position: Option<Seq>,
    /// The time spent in the store.
    pub store: Duration,
    /// The time spent in engines.
    pub engine: Duration,
}

impl CompletedChat {
    /// Returns a reply that was read from the store.
    pub(crate) const fn replayed(reply: ChatReply) -> Self {
        Self {
            reply,
            position: None,
            store: Duration::ZERO,
            engine: Duration::ZERO,
        }
    }
}

/// The progress of a turn.
#[derive(Debug, Default)]
pub struct Progress {
    /// True if the turn is or was queued.
    pub was_queued: bool,
    /// True if this process has queued it, for a caller of its own.
    pub(crate) is_queued_here: bool,
    /// The content of `turn.started`, once it has started.
    pub started: Option<TurnStarted>,
    /// The reply so far.
    pub reply: PartialReply,
    /// The end of the turn.
    pub outcome: Option<TurnOutcome>,
    /// The node id under which this process runs the turn.
    pub(crate) local_node: Option<NodeId>,
    /// True if it is stopped here, but goes on elsewhere or later: the process ends or has lost its lease,
    /// or another one has taken the turn.
    pub(crate) is_interrupted: bool,
    /// The lengths of the text and of the reasoning that clients may receive during a cancellation.
    held_at: Option<(usize, usize)>,
    /// The number of cancellations in progress.
    cancellations: usize,
}

impl Progress {
    /// Returns the text that clients may receive. During and after a cancellation, that is the text
    /// that the cancellation stores.
    pub fn text(&self) -> &str {
        let text = &self.reply.text;
        self.held_at()
            .map_or(text, |(at, _)| text.get(..at).unwrap_or_default())
    }

    /// Returns the reasoning that clients may receive, if they see it.
    pub(crate) fn reasoning(&self) -> &str {
        let text = self.reply.reasoning.text();
        self.held_at()
            .map_or(text, |(_, at)| text.get(..at).unwrap_or_default())
    }

    fn held_at(&self) -> Option<(usize, usize)> {
        match &self.outcome {
            Some(TurnOutcome::Completed(_) | TurnOutcome::Failed(_)) => None,
            Some(TurnOutcome::Cancelled | TurnOutcome::RequiresAction(_)) | None => self.held_at,
        }
    }

    /// Returns the number of times that the turn was resumed.
    pub const fn resumptions(&self) -> u32 {
        self.reply.resumptions
    }

    /// Withholds the text that arrives from now on.
    pub(crate) fn hold(&mut self) {
        self.cancellations += 1;
        let reply = &self.reply;
        self.held_at
            .get_or_insert((reply.text.len(), reply.reasoning.text().len()));
    }

    /// Ends the withholding of one cancellation.
    pub(crate) fn release(&mut self) {
        self.cancellations = self.cancellations.saturating_sub(1);
        if self.cancellations == 0 {
            self.held_at = None;
        }
    }
}
