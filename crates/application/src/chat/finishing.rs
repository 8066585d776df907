//! How the end of a turn gets into the store.

use std::time::Duration;

use domain::{Problem, Stamp, Timestamp, ToolCall};
use ports::{FinishOutcome, FinishTurn, PromotedTurn, RepositoryError, TurnEnding};
use serde_json::Value;

use super::{
    claim::Claim, live_turn::TurnOutcome, runner::TurnRunner, said::Unreturned, stored::outcome_of,
};

/// First pause before a finished turn is offered to an absent store again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause between two offers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How a turn ended, and who comes next.
pub(super) struct Ended {
    /// None when it is not known here: who waits looks into the store.
    pub(super) outcome: Option<TurnOutcome>,
    pub(super) promoted: Option<Box<PromotedTurn>>,
}

impl From<Option<TurnOutcome>> for Ended {
    fn from(outcome: Option<TurnOutcome>) -> Self {
        Self {
            outcome,
            promoted: None,
        }
    }
}

/// A turn of this process that comes to its end.
pub(super) struct Finishing<'a> {
    pub(super) runner: &'a TurnRunner,
    pub(super) claim: &'a Claim,
}

impl Finishing<'_> {
    /// Stores that it has no answer, and what it has done all the same.
    pub(super) async fn fail(&self, problem: Problem) -> Ended {
        let ending = TurnEnding::Failed {
            problem: problem.clone(),
            tool_calls: self.claim.live.progress().said.tool_calls(Unreturned::Cut),
        };
        let stored = self.store(ending, self.runner.ports.clock.now()).await;
        self.ended(stored, || TurnOutcome::Failed(problem)).await
    }

    /// What became of the end that was to be stored; `outcome` is what it is if it was.
    pub(super) async fn ended(
        &self,
        stored: Result<FinishOutcome, RepositoryError>,
        outcome: impl FnOnce() -> TurnOutcome,
    ) -> Ended {
        match stored {
            Ok(FinishOutcome::Finished { promoted, .. }) => Ended {
                outcome: Some(outcome()),
                promoted,
            },
            Ok(FinishOutcome::Refused) => self.ended_elsewhere().await,
            Err(error) => {
                tracing::error!(
                    error = ports::error::chain(&error),
                    turn = %self.claim.live.subject().turn_id,
                    "the end of a turn cannot be stored"
                );
                // The turn stays in progress until it is found that nobody runs it.
                None.into()
            }
        }
    }

    /// Stores the end, however long the store is away: the reply is there and must not be lost.
    pub(super) async fn store(
        &self,
        ending: TurnEnding,
        time: Timestamp,
    ) -> Result<FinishOutcome, RepositoryError> {
        let TurnRunner {
            ports, unfinished, ..
        } = self.runner;
        let subject = self.claim.live.subject();
        let mut pause = FIRST_PAUSE;
        let mut waits = None;
        loop {
            let finish = FinishTurn {
                tenant: subject.tenant.clone(),
                turn_id: subject.turn_id,
                conversation_id: subject.conversation_id,
                node: self.claim.node,
                ending: ending.clone(),
                stamp: Stamp {
                    time,
                    actor: subject.asker.clone(),
                },
                // As it is now: the process may have begun to go away while the engine spoke.
                promote: self.runner.promotes_to().is_some(),
            };
            match ports.turns.finish_turn(finish).await {
                Err(error) if error.is_retryable() => {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        turn = %subject.turn_id,
                        "a finished turn waits for the store"
                    );
                    waits.get_or_insert_with(|| unfinished.enter(bytes_of(&ending)));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    /// How the turn ended that somebody else has ended: by a cancellation, a deletion or a sweep.
    pub(super) async fn ended_elsewhere(&self) -> Ended {
        let subject = self.claim.live.subject();
        let turns = &self.runner.ports.turns;
        let found = turns.find(&subject.tenant, subject.turn_id).await;
        match found.map(|found| found.value) {
            Ok(Some(found)) => outcome_of(found.turn),
            // Only what was deleted is removed.
            Ok(None) => Some(TurnOutcome::Cancelled),
            Err(error) => {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    turn = %subject.turn_id,
                    "it cannot be read how a turn was ended"
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

/// How much memory a call takes, about.
fn bytes_of_call(call: &ToolCall) -> usize {
    call.name.len() + call.status.len() + bytes_of_value(&call.arguments)
}

/// How much memory a value takes, about: its texts, and its place in what holds it.
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

#[cfg(test)]
mod tests {
    use contract::samples;
    use domain::ProblemCode;
    use ports::Reply;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_waits_for_the_store_is_counted_with_its_calls_of_tools() {
        let call = ToolCall {
            arguments: json!({"text": "x".repeat(1_000)}),
            ..samples::tool_call()
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
            ..samples::reply(1)
        });
        assert_eq!(bytes_of(&completed), bytes_of(&failed) + 1_000);
    }

    #[test]
    fn numbers_take_memory_too() {
        let numbers = json!(vec![1; 1_000]);
        assert!(bytes_of_value(&numbers) >= 1_000 * size_of::<Value>());
    }
}
