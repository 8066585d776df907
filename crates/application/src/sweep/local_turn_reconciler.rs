//! Comparison of this process's turns in the store with the turns that it runs.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{Problem, ProblemCode, TurnId};
use ports::{RepositoryError, SweepRepository, TurnAddress};
use tokio_util::sync::CancellationToken;
use writes::{FailQueuedTurn, ReleaseTurn};

use crate::{background::round, chat::ChatContext, live_turns::TurnOutcome};

/// The interval of the comparison, equal to that of the lease's renewal.
const INTERVAL: Duration = Duration::from_secs(3);

/// Keeps the turns that the store records for this process equal to the turns that it runs.
pub struct LocalTurnReconciler {
    sweep: Arc<dyn SweepRepository>,
    context: Arc<ChatContext>,
}

impl LocalTurnReconciler {
    /// Creates a reconciler for the turns of `context`.
    pub fn new(sweep: Arc<dyn SweepRepository>, context: Arc<ChatContext>) -> Self {
        Self { sweep, context }
    }

    /// Compares until `stop`. When the node id changes, it interrupts the turns of the old id,
    /// because other processes end them.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut identity = self.context.node.watch();
        let mut lost = HashSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = identity.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let node = &self.context.node;
                    self.context.live.interrupt_of_earlier_nodes(|| node.id());
                    lost.clear();
                }
                _ = ticks.tick() => match round(self.compare(&lost)).await {
                    Some(Ok(now_lost)) => lost = now_lost,
                    Some(Err(error)) => tracing::warn!(
                        error = ports::error::one_line(&error),
                        "cannot read the turns of this node; retrying"
                    ),
                    None => {}
                },
            }
        }
    }

    /// Compares once: a turn that the store records as in progress in this process, but that does
    /// not run here, is lost. A turn that was also lost in the last comparison, `lost_before`,
    /// is left to the next sweep. Returns the turns that remain to be left to it.
    pub async fn compare(
        &self,
        lost_before: &HashSet<TurnId>,
    ) -> Result<HashSet<TurnId>, RepositoryError> {
        let in_progress = self.sweep.in_progress_under(self.context.node.id()).await?;
        let mut lost = HashSet::new();
        for turn in in_progress {
            if self.context.live.is_local(turn.turn_id) {
                continue;
            }
            let id = turn.turn_id;
            if !lost_before.contains(&id) {
                lost.insert(id);
                continue;
            }
            match round(self.release(turn)).await {
                Some(Ok(())) => continue,
                Some(Err(error)) => tracing::warn!(
                    error = ports::error::one_line(&error),
                    turn = %id,
                    "cannot release a lost turn of this node; retrying"
                ),
                None => {}
            }
            lost.insert(id);
        }
        Ok(lost)
    }

    async fn release(&self, turn: TurnAddress) -> Result<(), RepositoryError> {
        tracing::warn!(turn = %turn.turn_id, "turn in progress under this node is not running; resuming it");
        let release = ReleaseTurn {
            tenant: turn.tenant,
            turn_id: turn.turn_id,
            conversation_id: turn.conversation_id,
            node: self.context.node.id(),
            was_lost: true,
        };
        let writes = self.context.ports.writes.of_uncached();
        writes.write(release).await?;
        Ok(())
    }

    /// Fails queued turns when the process ends: those of its own callers, because nothing would
    /// receive their replies, and all queued turns if no other process can run them.
    pub async fn fail_queued(&self) {
        let mut own = self.context.live.queued();
        own.retain(|turn| turn.progress().is_queued_here);
        let mut outcome = Ok(());
        for turn in own {
            let subject = turn.subject();
            let turn = TurnAddress {
                tenant: subject.tenant.clone(),
                conversation_id: subject.conversation_id,
                turn_id: subject.turn_id,
            };
            outcome = outcome.and(self.fail_one(turn).await);
        }
        if self.sweep.is_single_process() {
            outcome = outcome.and(self.fail_all_queued().await);
        }
        if let Err(error) = outcome {
            tracing::warn!(
                error = ports::error::one_line(&error),
                "cannot fail queued turns at shutdown"
            );
        }
    }

    /// Fails all queued turns. An error with one turn does not stop the others.
    async fn fail_all_queued(&self) -> Result<(), RepositoryError> {
        let mut outcome = Ok(());
        for turn in self.sweep.queued().await? {
            outcome = outcome.and(self.fail_one(turn).await);
        }
        outcome
    }

    async fn fail_one(&self, turn: TurnAddress) -> Result<(), RepositoryError> {
        let problem = Problem::new(ProblemCode::Interrupted);
        let id = turn.turn_id;
        let fail = FailQueuedTurn {
            tenant: turn.tenant,
            turn_id: id,
            conversation_id: turn.conversation_id,
            problem: problem.clone(),
            time: self.context.ports.clock.now(),
        };
        let failed = self.context.ports.writes.write(fail).await?;
        if failed.is_some()
            && let Some(turn) = self.context.live.get(id)
        {
            turn.end(TurnOutcome::Failed(problem));
        }
        Ok(())
    }
}
