//! The end of a turn: its write, and the read of an end by another process.

use domain::{Problem, ProblemCode, Reasoning, Stamp, Timestamp, TurnStatus};
use ports::RepositoryError;
use writes::{
    Committed, FinishOutcome, FinishTurn, PromotedTurn, ReleaseTurn, Reply, SuspendOutcome,
    SuspendTurn, TurnEnding,
};

use super::{ChatContext, pending_finishes::bytes_of, runner::TurnRunner};
use crate::{
    cache::CachedCommand,
    engines::OpenCallStatus,
    live_turns::{CompletedChat, TurnOutcome, TurnOwnership},
    pauses::Pauses,
};

/// The end of a turn, and the turn that starts in its place.
pub(super) struct FinishedTurn {
    /// `None` if it is not known here: waiters poll the store.
    pub(super) outcome: Option<TurnOutcome>,
    pub(super) promoted: Option<Box<PromotedTurn>>,
}

impl FinishedTurn {
    const fn without_promotion(outcome: Option<TurnOutcome>) -> Self {
        Self {
            outcome,
            promoted: None,
        }
    }
}

/// Stores the end of a turn of this process.
#[derive(Clone, Copy)]
pub(super) struct TurnFinisher<'a> {
    pub(super) context: &'a ChatContext,
    pub(super) runner: &'a TurnRunner,
    pub(super) ownership: &'a TurnOwnership,
}

impl TurnFinisher<'_> {
    /// Stores that the turn failed, with the tool calls and the requests to models that it made.
    pub(super) async fn fail(&self, problem: Problem) -> FinishedTurn {
        let ending = {
            let progress = self.ownership.live.progress();
            TurnEnding::Failed {
                problem: problem.clone(),
                tool_calls: progress.reply.tool_calls(OpenCallStatus::Cut),
                requests: progress.reply.requests.to_models(),
            }
        };
        let stored = self.store(ending, self.context.ports.clock.now()).await;
        self.finished(stored, |_| TurnOutcome::Failed(problem))
            .await
    }

    /// Returns the model's reasoning, for the write that ends the turn or makes it wait.
    fn reasoning(&self) -> Option<Reasoning> {
        self.ownership.live.progress().reply.reasoning.to_stored()
    }

    /// Lets the turn wait for an answer to one of its calls.
    pub(super) async fn suspend(
        &self,
        reply: Reply,
        completed: impl Fn(&Reply, Timestamp) -> CompletedChat,
    ) -> FinishedTurn {
        if self.context.is_upgrading() {
            return self.fail(Problem::new(ProblemCode::Upgrading)).await;
        }
        self.context.forwarded.send_last_parts(&self.ownership.live);
        let subject = self.ownership.live.subject();
        let now = self.context.ports.clock.now();
        let stored = self.write_suspension(&reply, now).await;
        match stored {
            Ok(SuspendOutcome::Waits(committed)) => {
                let chat = CompletedChat {
                    position: Some(committed.last),
                    ..completed(&reply, now)
                };
                FinishedTurn::without_promotion(Some(TurnOutcome::RequiresAction(chat)))
            }
            Ok(SuspendOutcome::Dismissed { promoted, .. }) => FinishedTurn {
                promoted,
                ..self.read_outcome().await
            },
            Ok(SuspendOutcome::NotOwned) => self.read_outcome().await,
            Err(error) => {
                tracing::error!(
                    error = ports::error::one_line(&error),
                    turn = %subject.turn_id,
                    "a turn that waits for an answer is rejected by the store"
                );
                self.fail(Problem::new(ProblemCode::Internal)).await
            }
        }
    }

    /// Stores that the turn waits, however long the store is unavailable.
    async fn write_suspension(
        &self,
        reply: &Reply,
        now: Timestamp,
    ) -> Result<SuspendOutcome, RepositoryError> {
        let subject = self.ownership.live.subject();
        let suspend = || SuspendTurn {
            tenant: subject.tenant.clone(),
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            node: self.ownership.node,
            reply: reply.clone(),
            reasoning: self.reasoning(),
            stamp: Stamp {
                time: now,
                actor: subject.started_by.clone(),
            },
            promote: self.runner.promotes_to().is_some(),
        };
        self.write(suspend, || {}).await
    }

    /// Writes a command, however long the store is unavailable. The command is made anew for each attempt,
    /// because this process may begin to drain meanwhile; `unavailable` is called after each that fails.
    async fn write<C: CachedCommand>(
        &self,
        command: impl Fn() -> C,
        mut unavailable: impl FnMut(),
    ) -> Result<C::Outcome, RepositoryError> {
        let mut pauses = Pauses::default();
        loop {
            match self.context.ports.writes.write(command()).await {
                Err(error) if error.is_retryable() => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        turn = %self.ownership.live.subject().turn_id,
                        "store unavailable; the turn is kept in memory and stored later"
                    );
                    unavailable();
                    pauses.wait().await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Leaves the turn to another process, or to this one after a restart. While processes of an earlier
    /// version run, which leave turns without a node alone, it fails instead.
    pub(super) async fn release(&self) -> FinishedTurn {
        if self.context.is_upgrading() {
            return self.fail(Problem::new(ProblemCode::Interrupted)).await;
        }
        self.context.forwarded.send_last_parts(&self.ownership.live);
        let subject = self.ownership.live.subject();
        let release = ReleaseTurn {
            tenant: subject.tenant.clone(),
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            node: self.ownership.node,
            was_lost: false,
        };
        let mut pauses = Pauses::default();
        let writes = self.context.ports.writes.of_uncached();
        while let Err(error) = writes.write(release.clone()).await {
            tracing::warn!(
                error = ports::error::one_line(&error),
                turn = %subject.turn_id,
                "cannot release a turn"
            );
            // It is resumed all the same once the lease of this process has expired.
            if !error.is_retryable() || self.runner.is_closed() {
                break;
            }
            pauses.wait().await;
        }
        let draining = || TurnOutcome::Failed(Problem::new(ProblemCode::Draining));
        FinishedTurn::without_promotion(self.runner.is_draining().then(draining))
    }

    /// Returns how the turn ended. `outcome` is the end that the store was asked to write.
    pub(super) async fn finished(
        &self,
        stored: Result<FinishOutcome, RepositoryError>,
        outcome: impl FnOnce(Committed) -> TurnOutcome,
    ) -> FinishedTurn {
        match stored {
            Ok(FinishOutcome::Finished {
                committed,
                promoted,
            }) => FinishedTurn {
                outcome: Some(outcome(committed)),
                promoted,
            },
            Ok(FinishOutcome::NotOwned) => self.read_outcome().await,
            Err(error) => {
                tracing::error!(
                    error = ports::error::one_line(&error),
                    turn = %self.ownership.live.subject().turn_id,
                    "turn end rejected by the store; the turn stays in progress until its lease expires"
                );
                FinishedTurn::without_promotion(None)
            }
        }
    }

    /// Stores the end, however long the store is unavailable: a reply must not be lost.
    pub(super) async fn store(
        &self,
        ending: TurnEnding,
        time: Timestamp,
    ) -> Result<FinishOutcome, RepositoryError> {
        self.context.forwarded.send_last_parts(&self.ownership.live);
        let subject = self.ownership.live.subject();
        let mut pending = None;
        let reasoning = self.reasoning();
        let finish = || FinishTurn {
            tenant: subject.tenant.clone(),
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            node: self.ownership.node,
            ending: ending.clone(),
            reasoning: reasoning.clone(),
            stamp: Stamp {
                time,
                actor: subject.started_by.clone(),
            },
            promote: self.runner.promotes_to().is_some(),
        };
        let keep = || {
            let bytes = || bytes_of(&ending, reasoning.as_ref());
            pending.get_or_insert_with(|| self.context.pending_finishes.add(bytes()));
        };
        self.write(finish, keep).await
    }

    /// Reads how a cancellation, a deletion or a sweep has ended the turn; if another process runs it by
    /// now, it goes on.
    pub(super) async fn read_outcome(&self) -> FinishedTurn {
        let subject = self.ownership.live.subject();
        let turns = &self.context.ports.turns;
        let found = turns.find(&subject.tenant, subject.turn_id).await;
        let outcome = match found.map(|found| found.value) {
            Ok(Some(found)) => {
                let turn = found.turn;
                if matches!(
                    turn.status,
                    TurnStatus::Completed | TurnStatus::RequiresAction
                ) {
                    self.ownership.live.take_stored_reply(&turn);
                }
                let outcome = TurnOutcome::of_stored(turn);
                if outcome.is_none() {
                    self.ownership.live.interrupt();
                }
                outcome
            }
            // Only deleted turns are removed.
            Ok(None) => Some(TurnOutcome::Cancelled),
            Err(error) => {
                tracing::warn!(
                    error = ports::error::one_line(&error),
                    turn = %subject.turn_id,
                    "cannot read how a turn was ended"
                );
                None
            }
        };
        FinishedTurn::without_promotion(outcome)
    }
}
