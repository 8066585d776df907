//! The stored answer of a turn of which nothing else is stored.

use domain::{ChatReply, FinishReason, Problem, ProblemCode, Reasoning, ToolCall, TurnStarted};
use serde::{Deserialize, Serialize};

use crate::{
    engines::{OpenCallStatus, PartialReply, ReplySink as _},
    live_turns::{CompletedChat, LiveTurn, TurnOutcome},
};

/// The answer of a turn, as the record of its idempotency key contains it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredAnswer {
    started: TurnStarted,
    end: End,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Replied {
        reply: ChatReply,
        /// All tool calls of the turn, for streams.
        calls: Vec<ToolCall>,
        /// The model's reasoning, for streams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Reasoning>,
    },
    Failed(Problem),
}

impl StoredAnswer {
    /// Returns the answer of a turn that is about to end.
    pub(super) fn new(started: TurnStarted, live: &LiveTurn, outcome: &TurnOutcome) -> Self {
        let end = match outcome {
            TurnOutcome::Completed(completed) | TurnOutcome::RequiresAction(completed) => {
                End::Replied {
                    reply: completed.reply.clone(),
                    calls: live.with_reply(|reply| reply.tool_calls(OpenCallStatus::Running)),
                    reasoning: live.with_reply(|reply| reply.reasoning.to_stored()),
                }
            }
            TurnOutcome::Failed(problem) => End::Failed(problem.clone()),
            TurnOutcome::Cancelled => End::Failed(Problem::new(ProblemCode::Interrupted)),
        };
        Self { started, end }
    }

    /// Returns whether the same request can succeed later.
    pub(super) const fn is_retryable(&self) -> bool {
        matches!(&self.end, End::Failed(problem) if problem.retryable)
    }

    /// Ends a turn of which this process has nothing with this answer.
    pub(super) fn end(self, live: &LiveTurn) {
        live.mark_started(self.started);
        let (reply, calls, reasoning) = match self.end {
            End::Replied {
                reply,
                calls,
                reasoning,
            } => (reply, calls, reasoning),
            End::Failed(problem) => return live.end(TurnOutcome::Failed(problem)),
        };
        let mut restored = PartialReply::restored(reply.message.clone(), calls);
        restored.take_stored_reasoning(reasoning);
        live.progress().reply = restored;
        let is_waiting = reply.finish_reason == FinishReason::RequiresAction;
        let completed = CompletedChat::replayed(reply);
        live.end(if is_waiting {
            TurnOutcome::RequiresAction(completed)
        } else {
            TurnOutcome::Completed(completed)
        });
    }
}
