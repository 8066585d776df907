//! What happens in a turn, as its caller is told.

use domain::{ChatReply, ConversationId, Problem, TurnId, TurnStarted};
use ports::RepositoryError;

use super::{
    followed::FollowedTurn,
    live_turn::TurnOutcome,
    reply_cursor::{ReplyCursor, ReplyPiece},
};

/// What happens in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnSignal {
    /// It waits behind another.
    Queued {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation.
        conversation_id: ConversationId,
    },
    /// It has started.
    Started(TurnStarted),
    /// The agent said more, or used a tool.
    Reply(ReplyPiece),
    /// It was answered.
    Completed(ChatReply),
    /// It ended without an answer.
    Failed {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation.
        conversation_id: ConversationId,
        /// Why.
        error: Problem,
    },
    /// It was cancelled.
    Cancelled {
        /// The turn.
        turn_id: TurnId,
        /// Its conversation.
        conversation_id: ConversationId,
    },
}

/// What happens in a turn, each thing once: whether it waits, its start, its text, its end. Text
/// that was said while nobody asked comes as one piece, so that nothing is kept for who is slow.
pub struct TurnSignals {
    turn: FollowedTurn,
    told: Told,
}

/// What was told already.
#[derive(Default)]
struct Told {
    queued: bool,
    started: bool,
    reply: ReplyCursor,
    ended: bool,
}

impl TurnSignals {
    pub(super) fn new(turn: FollowedTurn) -> Self {
        Self {
            turn,
            told: Told::default(),
        }
    }

    /// The next thing; none after the end.
    pub async fn next(&mut self) -> Option<Result<TurnSignal, RepositoryError>> {
        loop {
            if self.told.ended {
                return None;
            }
            if let Some(signal) = self.untold() {
                return Some(Ok(signal));
            }
            if let Err(error) = self.turn.changed().await {
                self.told.ended = true;
                return Some(Err(error));
            }
        }
    }

    fn untold(&mut self) -> Option<TurnSignal> {
        let subject = self.turn.live.subject();
        let (turn_id, conversation_id) = (subject.turn_id, subject.conversation_id);
        let progress = self.turn.live.progress();
        let told = &mut self.told;
        // Also when it has started since, before anybody asked.
        if progress.was_queued && !told.started && !told.queued {
            told.queued = true;
            return Some(TurnSignal::Queued {
                turn_id,
                conversation_id,
            });
        }
        if let Some(started) = progress.started.filter(|_| !told.started) {
            told.started = true;
            return Some(TurnSignal::Started(started));
        }
        if let Some(piece) = told.reply.next(subject, &progress) {
            return Some(TurnSignal::Reply(piece));
        }
        let outcome = progress.outcome.as_ref()?;
        told.ended = true;
        Some(match outcome {
            TurnOutcome::Completed(chatted) => TurnSignal::Completed(chatted.reply.clone()),
            TurnOutcome::Failed(problem) => TurnSignal::Failed {
                turn_id,
                conversation_id,
                error: problem.clone(),
            },
            TurnOutcome::Cancelled => TurnSignal::Cancelled {
                turn_id,
                conversation_id,
            },
        })
    }
}

#[cfg(test)]
mod tests;
