//! Comparison of this process's turns in the store with the turns that it runs.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{PrincipalId, Problem, ProblemCode, Stamp, TenantId, TurnId};
use ports::{
    Clock, FinishOutcome, FinishTurn, RepositoryError, TurnAddress, TurnEnding, TurnRecovery,
    TurnRepository,
};
use tokio_util::sync::CancellationToken;

use crate::{
    background::round,
    cache::LogProgress,
    chat::{TurnOutcome, TurnRunner},
    node::Node,
};

/// The interval of the comparison, equal to that of the lease's renewal.
const INTERVAL: Duration = Duration::from_secs(3);

/// Keeps the turns that the store records for this process equal to the turns that it runs.
pub struct LocalTurnReconciler {
    recovery: Arc<dyn TurnRecovery>,
    turns: Arc<dyn TurnRepository>,
    runner: Arc<TurnRunner>,
    node: Arc<Node>,
    applied: Arc<LogProgress>,
    clock: Arc<dyn Clock>,
}

impl LocalTurnReconciler {
    /// Creates a reconciler over these ports, for the turns of `runner`.
    pub fn new(
        recovery: Arc<dyn TurnRecovery>,
        turns: Arc<dyn TurnRepository>,
        runner: Arc<TurnRunner>,
        node: Arc<Node>,
        applied: Arc<LogProgress>,
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

    /// Compares until `stop`. When the node id changes, it interrupts the turns of the old id,
    /// because other processes have treated that id as dead.
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
                _ = ticks.tick() => match round(self.compare(&unknown)).await {
                    Some(Ok(now_unknown)) => unknown = now_unknown,
                    Some(Err(error)) => tracing::warn!(
                        error = ports::error::chain(&error),
                        "the turns of this node cannot be read"
                    ),
                    None => {}
                },
            }
        }
    }

    /// Compares once. Fails the turns in progress under this process that it does not run, if they
    /// were in `unknown_before`. Returns the turns that are unknown now and remain to be failed.
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
                continue;
            }
            match round(self.fail(turn)).await {
                Some(Ok(())) => continue,
                Some(Err(error)) => tracing::warn!(
                    error = ports::error::chain(&error),
                    turn = %id,
                    "a turn that this node does not run cannot be failed"
                ),
                None => {}
            }
            unknown.insert(id);
        }
        Ok(unknown)
    }

    async fn fail(&self, lost: TurnAddress) -> Result<(), RepositoryError> {
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
            ending: TurnEnding::failed(Problem::new(ProblemCode::Interrupted)),
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

    /// Fails queued turns when the process ends: those with waiters here, which could not receive
    /// the reply any more, and all queued turns if no other process can run them.
    pub async fn give_up_queued(&self) {
        let here = self.runner.live().queued();
        let mut outcome = Ok(());
        for turn in here {
            let subject = turn.subject();
            let asker = subject.asker.clone();
            let given_up = self.give_up(&subject.tenant, subject.turn_id, asker);
            outcome = outcome.and(given_up.await);
        }
        if self.recovery.is_of_one_process() {
            outcome = outcome.and(self.give_up_all().await);
        }
        if let Err(error) = outcome {
            tracing::warn!(
                error = ports::error::chain(&error),
                "turns that wait cannot be failed"
            );
        }
    }

    /// Fails all queued turns. An error with one turn does not stop the others.
    async fn give_up_all(&self) -> Result<(), RepositoryError> {
        let mut outcome = Ok(());
        for turn in self.recovery.waiting().await? {
            outcome = outcome.and(self.give_up_waiting(&turn).await);
        }
        outcome
    }

    async fn give_up_waiting(&self, turn: &TurnAddress) -> Result<(), RepositoryError> {
        let found = self.turns.find(&turn.tenant, turn.turn_id).await?;
        match found.value {
            Some(found) => {
                let given_up = self.give_up(&turn.tenant, turn.turn_id, found.principal);
                given_up.await
            }
            None => Ok(()),
        }
    }

    async fn give_up(
        &self,
        tenant: &TenantId,
        id: TurnId,
        asker: PrincipalId,
    ) -> Result<(), RepositoryError> {
        let problem = Problem::new(ProblemCode::Interrupted);
        let stamp = self.stamp(asker);
        let failed = self
            .recovery
            .fail_queued(tenant, id, &problem, &stamp)
            .await?;
        if let Some(committed) = failed {
            self.applied.announce(tenant, committed);
            if let Some(turn) = self.runner.live().get(id) {
                turn.end(TurnOutcome::Failed(problem));
            }
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
