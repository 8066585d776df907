//! The sweep that resumes the turns of dead processes, and promotes or fails queued turns.

use std::{sync::Arc, time::Duration};

use domain::TenantId;
use ports::{RepositoryError, SweepRepository};
use tokio_util::sync::CancellationToken;
use writes::Sweep;

use crate::{
    background::{every, round},
    chat::{ChatContext, MAX_QUEUE_TIME, TurnRunner},
    turns::expire,
};

/// The interval of the sweep.
const INTERVAL: Duration = Duration::from_secs(2);
/// The time for which this process must have renewed its own lease before it marks other nodes as
/// dead: after a suspension or an outage, the leases of all nodes may have expired.
const MIN_RENEWAL_STREAK: Duration = Duration::from_secs(10);
/// The maximum number of turns that one transaction ends or starts.
const CHUNK: usize = 100;

/// Resumes the turns of dead processes, and promotes or fails queued turns.
pub struct Sweeper {
    sweep: Arc<dyn SweepRepository>,
    context: Arc<ChatContext>,
    runner: Arc<TurnRunner>,
}

impl Sweeper {
    /// Creates a sweeper whose promoted turns `runner` runs.
    pub fn new(
        sweep: Arc<dyn SweepRepository>,
        context: Arc<ChatContext>,
        runner: Arc<TurnRunner>,
    ) -> Self {
        Self {
            sweep,
            context,
            runner,
        }
    }

    /// Sweeps until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let failure = "cannot sweep for turns of dead nodes; retrying";
        every(INTERVAL, &stop, failure, || self.sweep_if_lease_is_stable()).await;
    }

    async fn sweep_if_lease_is_stable(&self) -> Result<(), RepositoryError> {
        if !self.sweep.is_single_process()
            && self.context.node.renewal_streak() < MIN_RENEWAL_STREAK
        {
            return Ok(());
        }
        self.sweep_all().await
    }

    /// Sweeps all tenants once.
    pub async fn sweep_all(&self) -> Result<(), RepositoryError> {
        let marked = self.sweep.mark_dead_nodes(self.context.node.id()).await?;
        if marked > 0 {
            tracing::warn!(marked, "node leases expired; resuming their turns");
        }
        let mut outcome = Ok(());
        for tenant in self.sweep.tenants_to_sweep(MAX_QUEUE_TIME).await? {
            // An error in one tenant does not delay the others.
            if let Some(swept) = round(self.sweep_tenant(&tenant)).await {
                outcome = outcome.and(swept);
            }
        }
        outcome
    }

    async fn sweep_tenant(&self, tenant: &TenantId) -> Result<(), RepositoryError> {
        loop {
            let node = self.runner.promotes_to();
            let sweep = Sweep {
                tenant: tenant.clone(),
                node,
                max_wait: MAX_QUEUE_TIME,
                now: self.context.ports.clock.now(),
                limit: CHUNK,
            };
            let swept = self.context.ports.writes.write(sweep).await?;
            let changed = swept.failed.len() + swept.promoted.len();
            for id in swept.failed {
                tracing::warn!(
                    turn = %id,
                    "turn failed: its nodes have died, it was queued for too long, or nobody has \
                     answered it"
                );
                self.context.live.on_remote_change(id, true);
            }
            for (promoted, node) in swept.promoted.into_iter().zip(node.into_iter().cycle()) {
                self.runner.run_promoted(promoted, node);
            }
            for call in swept.undecided {
                expire(&self.context, &self.runner, tenant, call).await?;
            }
            if changed < CHUNK {
                return Ok(());
            }
        }
    }
}
