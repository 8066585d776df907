//! Storing the end of a turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::{ChatReply, Problem, ProblemCode, Stamp, Timestamp, ToolCall, Turn, TurnStatus};
use ports::{FinishOutcome, FinishTurn, PromotedTurn, RepositoryError, TurnEnding};
use serde_json::Value;

use super::{
    command::CompletedChat,
    live_turn::TurnOutcome,
    partial_reply::OpenCallStatus,
    runner::{TurnOwnership, TurnRunner},
};

/// The first pause before a finished turn is offered to an unavailable store again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two offers.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The end of a turn, and the turn that starts in its place.
pub(super) struct FinishedTurn {
    /// `None` if it is not known here: waiters poll the store.
    pub(super) outcome: Option<TurnOutcome>,
    pub(super) promoted: Option<Box<PromotedTurn>>,
}

impl From<Option<TurnOutcome>> for FinishedTurn {
    fn from(outcome: Option<TurnOutcome>) -> Self {
        Self {
            outcome,
            promoted: None,
        }
    }
}

/// Stores the end of a turn of this process.
pub(super) struct TurnFinisher<'a> {
    pub(super) runner: &'a TurnRunner,
    pub(super) ownership: &'a TurnOwnership,
}

impl TurnFinisher<'_> {
    /// Stores that the turn failed, with the tool calls that it made.
    pub(super) async fn fail(&self, problem: Problem) -> FinishedTurn {
        let ending = TurnEnding::Failed {
            problem: problem.clone(),
            tool_calls: self
                .ownership
                .live
                .progress()
                .reply
                .tool_calls(OpenCallStatus::Cut),
        };
        let stored = self
            .store(ending, self.runner.context().ports.clock.now())
            .await;
        self.ended(stored, || TurnOutcome::Failed(problem)).await
    }

    /// Returns how the turn ended; `outcome` is the end that was to be stored.
    pub(super) async fn ended(
        &self,
        stored: Result<FinishOutcome, RepositoryError>,
        outcome: impl FnOnce() -> TurnOutcome,
    ) -> FinishedTurn {
        match stored {
            Ok(FinishOutcome::Finished { promoted, .. }) => FinishedTurn {
                outcome: Some(outcome()),
                promoted,
            },
            Ok(FinishOutcome::Refused) => self.ended_elsewhere().await,
            Err(error) => {
                tracing::error!(
                    error = ports::error::chain(&error),
                    turn = %self.ownership.live.subject().turn_id,
                    "turn end rejected by the store; the turn stays in progress until its lease expires"
                );
                None.into()
            }
        }
    }

    /// Stores the end, however long the store is unavailable: a reply must not be lost.
    pub(super) async fn store(
        &self,
        ending: TurnEnding,
        time: Timestamp,
    ) -> Result<FinishOutcome, RepositoryError> {
        let turns = &self.runner.context().ports.turns;
        let subject = self.ownership.live.subject();
        let mut pause = FIRST_PAUSE;
        let mut pending = None;
        loop {
            let finish = FinishTurn {
                tenant: subject.tenant.clone(),
                turn_id: subject.turn_id,
                conversation_id: subject.conversation_id,
                node: self.ownership.node,
                ending: ending.clone(),
                stamp: Stamp {
                    time,
                    actor: subject.asker.clone(),
                },
                // Read now: the process may have started to drain meanwhile.
                promote: self.runner.promotes_to().is_some(),
            };
            match turns.finish_turn(finish).await {
                Err(error) if error.is_retryable() => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        turn = %subject.turn_id,
                        "store unavailable; finished turn is kept in memory and stored later"
                    );
                    pending.get_or_insert_with(|| {
                        let pending = &self.runner.pending_finishes;
                        pending.add(bytes_of(&ending))
                    });
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// Returns how a cancellation, a deletion or a sweep has ended the turn.
    pub(super) async fn ended_elsewhere(&self) -> FinishedTurn {
        let subject = self.ownership.live.subject();
        let turns = &self.runner.context().ports.turns;
        let found = turns.find(&subject.tenant, subject.turn_id).await;
        match found.map(|found| found.value) {
            Ok(Some(found)) => outcome_of(found.turn),
            // Only deleted turns are removed.
            Ok(None) => Some(TurnOutcome::Cancelled),
            Err(error) => {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    turn = %subject.turn_id,
                    "cannot read how a turn was ended"
                );
                None
            }
        }
        .into()
    }
}

fn bytes_of(ending: &TurnEnding) -> usize {
    let (text, calls) = match ending {
        TurnEnding::Completed(reply) => (reply.content.len(), &reply.tool_calls),
        TurnEnding::Failed { tool_calls, .. } => (0, tool_calls),
    };
    text + calls.iter().map(bytes_of_call).sum::<usize>()
}

/// The approximate memory of a call.
fn bytes_of_call(call: &ToolCall) -> usize {
    call.name.len() + call.status.len() + bytes_of_value(&call.arguments)
}

/// The approximate memory of a value.
fn bytes_of_value(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of_value).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| name.len() + bytes_of_value(member))
            .sum(),
    };
    size_of::<Value>() + inside
}

/// Returns how a stored turn ended; `None` if it has not.
pub(super) fn outcome_of(turn: Turn) -> Option<TurnOutcome> {
    Some(match turn.status {
        TurnStatus::Queued | TurnStatus::InProgress => return None,
        TurnStatus::Cancelled => TurnOutcome::Cancelled,
        TurnStatus::Failed => TurnOutcome::Failed(failure(turn)),
        TurnStatus::Completed => match chat_reply_of(turn) {
            Some(reply) => TurnOutcome::Completed(CompletedChat::replayed(reply)),
            None => TurnOutcome::Failed(Problem::new(ProblemCode::Internal)),
        },
    })
}

fn failure(turn: Turn) -> Problem {
    turn.error
        .unwrap_or_else(|| Problem::new(ProblemCode::Internal))
}

fn chat_reply_of(turn: Turn) -> Option<ChatReply> {
    let reply = turn.reply?;
    Some(ChatReply {
        message: reply.content,
        conversation_id: turn.conversation_id,
        turn_id: turn.id,
        message_id: reply.id,
        agent_id: turn.agent_id,
        agent_version: turn.agent_version?,
        engine: turn.engine.or(reply.engine)?,
        degraded: turn.degraded,
        finish_reason: turn.finish_reason.or(reply.finish_reason)?,
        usage: turn.usage,
        created_at: reply.created_at,
    })
}

/// The maximum number of finished turns that wait for the store; beyond it no message is accepted.
const MAX_PENDING: usize = 1_000;
/// The maximum number of bytes of their replies and tool calls.
const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// Counts the finished turns that wait for an unavailable store, and their memory.
#[derive(Debug, Default)]
pub(super) struct PendingFinishes {
    turns: AtomicUsize,
    bytes: AtomicUsize,
}

/// A finished turn that waits; it is counted until it is dropped.
pub(super) struct PendingFinish {
    all: Arc<PendingFinishes>,
    bytes: usize,
}

impl PendingFinishes {
    /// Whether the limits are reached.
    pub(super) fn is_full(&self) -> bool {
        self.turns.load(Ordering::Relaxed) >= MAX_PENDING
            || self.bytes.load(Ordering::Relaxed) >= MAX_PENDING_BYTES
    }

    /// Counts another turn.
    fn add(self: &Arc<Self>, bytes: usize) -> PendingFinish {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        PendingFinish {
            all: Arc::clone(self),
            bytes,
        }
    }
}

impl Drop for PendingFinish {
    fn drop(&mut self) {
        self.all.turns.fetch_sub(1, Ordering::Relaxed);
        self.all.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use contract::fixture;
    use ports::Reply;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_bytes_of_an_ending_include_its_tool_calls() {
        let call = ToolCall {
            arguments: json!({"text": "x".repeat(1_000)}),
            ..fixture::tool_call()
        };
        let tool_calls = vec![call.clone(), call];
        let failed = TurnEnding::Failed {
            problem: Problem::new(ProblemCode::EngineFailed),
            tool_calls: tool_calls.clone(),
        };
        assert!((2_000..3_000).contains(&bytes_of(&failed)));
        let completed = TurnEnding::Completed(Reply {
            content: "x".repeat(1_000),
            tool_calls,
            ..fixture::reply(1)
        });
        assert_eq!(bytes_of(&completed), bytes_of(&failed) + 1_000);
    }

    #[test]
    fn numbers_take_memory_too() {
        let numbers = json!(vec![1; 1_000]);
        assert!(bytes_of_value(&numbers) >= 1_000 * size_of::<Value>());
    }

    #[test]
    fn a_thousand_turns_or_64_mib_are_full() {
        let pending = Arc::new(PendingFinishes::default());
        let mut waiting: Vec<_> = (0..MAX_PENDING - 1).map(|_| pending.add(1)).collect();
        assert!(!pending.is_full());
        waiting.push(pending.add(1));
        assert!(pending.is_full());
        drop(waiting);
        assert!(!pending.is_full());
        let large = pending.add(MAX_PENDING_BYTES);
        assert!(pending.is_full());
        drop(large);
        assert!(!pending.is_full());
    }
}
