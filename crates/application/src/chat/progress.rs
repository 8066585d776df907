//! How far a turn has come.

use domain::{NodeId, TurnStarted};

use super::{live_turn::TurnOutcome, said::Said};

/// How far a turn has come.
#[derive(Debug, Default)]
pub struct Progress {
    /// Whether it waits, or has waited, in the queue.
    pub was_queued: bool,
    /// What is known since it started.
    pub started: Option<TurnStarted>,
    /// What was said so far.
    pub said: Said,
    /// How it ended.
    pub outcome: Option<TurnOutcome>,
    /// The node id under which this process runs it.
    pub(super) runs_under: Option<NodeId>,
    /// Set when it is stopped because the process ends or lost its lease, not because somebody
    /// ended the turn.
    pub(super) is_interrupted: bool,
    /// How much of the text may be told since somebody cancels the turn.
    held_at: Option<usize>,
    /// How many cancel it at the moment.
    cancelled_by: usize,
}

impl Progress {
    /// The text that may be told: all that was said, but while somebody cancels the turn, and once
    /// that has come to pass, no more than what is kept of it.
    pub fn text(&self) -> &str {
        let held_at = match &self.outcome {
            Some(TurnOutcome::Completed(_) | TurnOutcome::Failed(_)) => None,
            Some(TurnOutcome::Cancelled) | None => self.held_at,
        };
        let text = &self.said.text;
        held_at.map_or(text, |at| text.get(..at).unwrap_or_default())
    }

    /// Holds back what is said from now on.
    pub(super) fn hold(&mut self) {
        self.cancelled_by += 1;
        self.held_at.get_or_insert(self.said.text.len());
    }

    /// Holds nothing back on account of one that did not cancel it.
    pub(super) fn release(&mut self) {
        self.cancelled_by = self.cancelled_by.saturating_sub(1);
        if self.cancelled_by == 0 {
            self.held_at = None;
        }
    }
}
