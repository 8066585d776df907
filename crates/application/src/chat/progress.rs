//! How far a turn has come.

use domain::{NodeId, ToolCall, TurnStarted};
use ports::ToolArguments;

use super::live_turn::TurnOutcome;

/// What an engine has said so far.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// The engine that speaks.
    pub engine: String,
    /// Whether it is a fallback.
    pub degraded: bool,
    /// The text so far.
    pub text: String,
    /// The tools that were called, and what came of it, in order.
    pub tools: Vec<ToolEvent>,
}

impl Said {
    /// The calls that have ended, in the order in which they were made.
    pub(crate) fn tool_calls(&self) -> Vec<ToolCall> {
        let returned = self.tools.iter().filter_map(|event| match &event.step {
            ToolStep::Called { .. } => None,
            ToolStep::Returned(call) => Some(call.clone()),
        });
        returned.collect()
    }

    /// Notes a step at the end of what was said.
    pub(super) fn note(&mut self, step: ToolStep) {
        self.tools.push(ToolEvent {
            at: self.text.len(),
            step,
        });
    }
}

/// A step of a tool, and where in the text it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolEvent {
    /// How much was said before it, in bytes.
    pub at: usize,
    /// What was done.
    pub step: ToolStep,
}

/// Something that an engine did with a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolStep {
    /// It calls one.
    Called {
        /// The tool.
        name: String,
        /// What it is given.
        arguments: ToolArguments,
    },
    /// The call has ended.
    Returned(ToolCall),
}

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
