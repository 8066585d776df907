//! Ends the turns of dead processes, and starts or ends those that wait.

use std::{sync::Arc, time::Duration};

use domain::TenantId;
use ports::{Clock, RepositoryError, Sweep, TurnRecovery};
use tokio_util::sync::CancellationToken;

use crate::{
    background::{every, round},
    cache::LogProgress,
    chat::{MAX_QUEUE_TIME, TurnRunner},
    node::Node,
};

/// How often it is looked for such turns.
const INTERVAL: Duration = Duration::from_secs(2);
/// For how long this process must have kept its own lease before it judges others: one that was
/// asleep or cut off from the store would take everybody for dead.
const STEADY: Duration = Duration::from_secs(10);
/// Turns that one transaction ends or starts at most.
const CHUNK: usize = 100;

/// Ends the turns of dead processes, and starts or ends those that wait.
pub struct Sweeper {
    recovery: Arc<dyn TurnRecovery>,
    runner: Arc<TurnRunner>,
    node: Arc<Node>,
    applied: Arc<LogProgress>,
    clock: Arc<dyn Clock>,
}

impl Sweeper {
    /// A sweeper whose promoted turns `runner` runs.
    pub fn new(
        recovery: Arc<dyn TurnRecovery>,
        runner: Arc<TurnRunner>,
        node: Arc<Node>,
        applied: Arc<LogProgress>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            recovery,
            runner,
            node,
            applied,
            clock,
        }
    }

    /// Sweeps until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let failure = "turns of dead processes cannot be looked for";
        every(INTERVAL, &stop, failure, || self.pass_if_steady()).await;
    }

    async fn pass_if_steady(&self) -> Result<(), RepositoryError> {
        if !self.recovery.is_of_one_process() && self.node.steady_for() < STEADY {
            return Ok(());
        }
        self.pass().await
    }

    /// Looks once, through all tenants.
    pub async fn pass(&self) -> Result<(), RepositoryError> {
        let marked = self.recovery.mark_dead_nodes(self.node.id()).await?;
        if marked > 0 {
            tracing::warn!(marked, "processes were taken for dead");
        }
        let mut outcome = Ok(());
        for tenant in self.recovery.tenants_to_sweep(MAX_QUEUE_TIME).await? {
            // What goes wrong in one tenant does not keep the others waiting.
            if let Some(swept) = round(self.sweep(&tenant)).await {
                outcome = outcome.and(swept);
            }
        }
        outcome
    }

    async fn sweep(&self, tenant: &TenantId) -> Result<(), RepositoryError> {
        loop {
            let node = self.runner.promotes_to();
            let sweep = Sweep {
                tenant: tenant.clone(),
                node,
                longest_wait: MAX_QUEUE_TIME,
                now: self.clock.now(),
                limit: CHUNK,
            };
            let swept = self.recovery.sweep(&sweep).await?;
            let touched = swept.failed.len() + swept.promoted.len();
            if let Some(committed) = swept.committed {
                self.applied.announce(tenant, committed);
            }
            for id in swept.failed {
                tracing::warn!(turn = %id, "a turn was failed that nobody ran or that waited too long");
                self.runner.live().changed_elsewhere(id, true);
            }
            for (promoted, node) in swept.promoted.into_iter().zip(node.into_iter().cycle()) {
                self.runner.run_promoted(promoted, node);
            }
            if touched < CHUNK {
                return Ok(());
            }
        }
    }
}
