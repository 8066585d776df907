//! Keeps what the store says of this process's turns and what it runs the same.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{PrincipalId, Problem, ProblemCode, Stamp, TurnId};
use ports::{
    Clock, FinishOutcome, FinishTurn, RepositoryError, TurnEnding, TurnInProgress, TurnRecovery,
    TurnRepository,
};
use tokio_util::sync::CancellationToken;

use crate::{
    cache::AppliedLog,
    chat::{LiveTurn, TurnOutcome, TurnRunner},
    node::Node,
};

/// How often the store is asked what it says: as often as the lease is renewed.
const INTERVAL: Duration = Duration::from_secs(3);

/// Keeps what the store says of this process's turns and what it runs the same.
pub struct OwnTurns {
    recovery: Arc<dyn TurnRecovery>,
    turns: Arc<dyn TurnRepository>,
    runner: Arc<TurnRunner>,
    node: Arc<Node>,
    applied: Arc<AppliedLog>,
    clock: Arc<dyn Clock>,
}

impl OwnTurns {
    /// Over these ports, for the turns of `runner`.
    pub fn new(
        recovery: Arc<dyn TurnRecovery>,
        turns: Arc<dyn TurnRepository>,
        runner: Arc<TurnRunner>,
        node: Arc<Node>,
        applied: Arc<AppliedLog>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            recovery,
            turns,
            runner,
            node,
            applied,
            clock,
        }
    }

    /// Compares until `stop`, and gives up the turns of an id under which this process was taken
    /// for dead.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut identity = self.node.watch();
        let mut unknown = HashSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = identity.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.runner.live().interrupt_but_under(|| self.node.id());
                    unknown.clear();
                }
                _ = ticks.tick() => match self.compare(&unknown).await {
                    Ok(now_unknown) => unknown = now_unknown,
                    Err(error) => tracing::warn!(
                        error = ports::error::chain(&error),
                        "the turns of this node cannot be read"
                    ),
                },
            }
        }
    }

    /// Compares once: fails the turns in progress under this process that it does not run, if it
    /// did not know them the last time either. Answers those it does not know now.
    pub async fn compare(
        &self,
        unknown_before: &HashSet<TurnId>,
    ) -> Result<HashSet<TurnId>, RepositoryError> {
        let in_progress = self.recovery.in_progress_under(self.node.id()).await?;
        let mut unknown = HashSet::new();
        for turn in in_progress {
            if self.runner.live().runs(turn.turn_id) {
                continue;
            }
            let id = turn.turn_id;
            if !unknown_before.contains(&id) {
                unknown.insert(id);
            } else if let Err(error) = self.fail(turn).await {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    turn = %id,
                    "a turn that this node does not run cannot be failed"
                );
                unknown.insert(id);
            }
        }
        Ok(unknown)
    }

    async fn fail(&self, lost: TurnInProgress) -> Result<(), RepositoryError> {
        let Some(found) = self.turns.find(&lost.tenant, lost.turn_id).await?.value else {
            return Ok(());
        };
        tracing::warn!(turn = %lost.turn_id, "a turn was failed that this node does not run");
        let node = self.node.id();
        let finish = FinishTurn {
            tenant: lost.tenant.clone(),
            turn_id: lost.turn_id,
            conversation_id: lost.conversation_id,
            node,
            ending: TurnEnding::Failed(Problem::new(ProblemCode::Interrupted)),
            stamp: self.stamp(found.principal),
            promote: self.runner.promotes_to().is_some(),
        };
        if let FinishOutcome::Finished {
            promoted: Some(promoted),
            ..
        } = self.turns.finish_turn(finish).await?
        {
            self.runner.run_promoted(*promoted, node);
        }
        self.runner.live().changed_elsewhere(lost.turn_id, true);
        Ok(())
    }

    /// Fails the turns that wait in a queue and whose callers wait here, when the process ends:
    /// nobody could tell them of the reply any more.
    pub async fn give_up_queued(&self) {
        for turn in self.runner.live().queued() {
            if let Err(error) = self.give_up(&turn).await {
                tracing::warn!(
                    error = ports::error::chain(&error),
                    "a turn that waits cannot be failed"
                );
            }
        }
    }

    async fn give_up(&self, turn: &LiveTurn) -> Result<(), RepositoryError> {
        let subject = turn.subject();
        let problem = Problem::new(ProblemCode::Interrupted);
        let stamp = self.stamp(subject.asker.clone());
        let failed = self
            .recovery
            .fail_queued(&subject.tenant, subject.turn_id, &problem, &stamp)
            .await?;
        if let Some(committed) = failed {
            self.applied.announce(&subject.tenant, committed);
            turn.end(TurnOutcome::Failed(problem.into()));
        }
        Ok(())
    }

    fn stamp(&self, actor: PrincipalId) -> Stamp {
        Stamp {
            time: self.clock.now(),
            actor,
        }
    }
}
