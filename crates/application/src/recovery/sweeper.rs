//! The sweep that ends the turns of dead processes, and promotes or fails queued turns.

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

/// The interval of the sweep.
const INTERVAL: Duration = Duration::from_secs(2);
/// The time for which this process must have kept its own lease before it marks others as dead. A
/// process that was suspended or disconnected from the store would treat every other node as dead.
const STEADY: Duration = Duration::from_secs(10);
/// The maximum number of turns that one transaction ends or starts.
const CHUNK: usize = 100;

/// Ends the turns of dead processes, and promotes or fails queued turns.
pub struct Sweeper {
    recovery: Arc<dyn TurnRecovery>,
    runner: Arc<TurnRunner>,
    node: Arc<Node>,
    applied: Arc<LogProgress>,
    clock: Arc<dyn Clock>,
}

impl Sweeper {
    /// Creates a sweeper whose promoted turns `runner` runs.
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

    /// Sweeps all tenants once.
    pub async fn pass(&self) -> Result<(), RepositoryError> {
        let marked = self.recovery.mark_dead_nodes(self.node.id()).await?;
        if marked > 0 {
            tracing::warn!(marked, "processes were taken for dead");
        }
        let mut outcome = Ok(());
        for tenant in self.recovery.tenants_to_sweep(MAX_QUEUE_TIME).await? {
            // An error in one tenant does not delay the others.
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
