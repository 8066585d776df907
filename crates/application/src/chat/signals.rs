//! What happens in a turn, as its caller is told.

use domain::{ChatReply, ConversationId, Problem, TurnId};
use ports::RepositoryError;

use super::{
    followed::FollowedTurn,
    live_turn::{StartedTurn, TurnOutcome},
    progress::Progress,
};

/// More of a reply's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The turn.
    pub turn_id: TurnId,
    /// Where the text begins in the reply, in UTF-8 bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// The text.
    pub text: String,
}

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
    Started(StartedTurn),
    /// The agent said more.
    Delta(Delta),
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
    text: usize,
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
        if progress.was_queued && !told.started && !told.queued && progress.outcome.is_none() {
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
        if let Some(delta) = delta_since(&progress, turn_id, told.text) {
            told.text = delta.to;
            return Some(TurnSignal::Delta(delta));
        }
        let outcome = progress.outcome.as_ref()?;
        told.ended = true;
        Some(match outcome {
            TurnOutcome::Completed(chatted) => TurnSignal::Completed(chatted.reply.clone()),
            TurnOutcome::Failed(failure) => TurnSignal::Failed {
                turn_id,
                conversation_id,
                error: failure.problem.clone(),
            },
            TurnOutcome::Cancelled => TurnSignal::Cancelled {
                turn_id,
                conversation_id,
            },
        })
    }
}

/// What may be told beyond `from` bytes.
pub fn delta_since(progress: &Progress, turn_id: TurnId, from: usize) -> Option<Delta> {
    let text = progress.text().get(from..).filter(|it| !it.is_empty())?;
    Some(Delta {
        turn_id,
        from,
        to: from + text.len(),
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests;
