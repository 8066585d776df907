//! Deletion of conversations that are kept no longer, in the background.

use std::{sync::Arc, time::Duration};

use domain::{
    AgentId, ConversationId, PrincipalId, Stamp, TenantId, Timestamp, config::parse_retention,
};
use ports::{AgentRetention, Maintenance, RepositoryError, SweepRepository, TenantRepository};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use writes::{DeleteConversation, DeleteOutcome};

use crate::{
    background::{AFTER_START, every},
    cache::CachedWrites,
};

/// The interval at which conversations are deleted.
const INTERVAL: Duration = Duration::from_mins(1);
/// The maximum number of agents and of conversations that one statement returns.
const CHUNK: usize = 100;

/// Deletes conversations that are kept no longer. Several nodes may do so: what one has deleted, the others do not
/// find.
pub struct ConversationExpiry {
    tenants: Arc<dyn TenantRepository>,
    sweep: Arc<dyn SweepRepository>,
    maintenance: Arc<dyn Maintenance>,
    writes: CachedWrites,
    /// The time for which all conversations are kept at most; `None` if they are kept for good.
    retention: Option<Duration>,
}

impl ConversationExpiry {
    /// Creates a task that keeps conversations for `retention`, or for the time that their agent states if that
    /// is shorter.
    pub const fn new(
        tenants: Arc<dyn TenantRepository>,
        sweep: Arc<dyn SweepRepository>,
        maintenance: Arc<dyn Maintenance>,
        writes: CachedWrites,
        retention: Option<Duration>,
    ) -> Self {
        Self {
            tenants,
            sweep,
            maintenance,
            writes,
            retention,
        }
    }

    /// Deletes conversations every minute until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        if stop.run_until_cancelled(sleep(AFTER_START)).await.is_none() {
            return;
        }
        let failure = "cannot delete conversations that are kept no longer; retrying";
        every(INTERVAL, &stop, failure, || async {
            let deleted = self.expire(&stop).await?;
            if deleted > 0 {
                tracing::info!(deleted, "conversations deleted after their retention");
            }
            Ok::<_, RepositoryError>(())
        })
        .await;
    }

    /// Deletes all conversations that are kept no longer, and returns their number.
    pub async fn expire(&self, stop: &CancellationToken) -> Result<u64, RepositoryError> {
        let now = self.maintenance.now().await?;
        let mut deleted = 0;
        for tenant in self.tenants.list().await? {
            deleted += self.expire_in(&tenant.id, now, stop).await?;
        }
        Ok(deleted)
    }

    async fn expire_in(
        &self,
        tenant: &TenantId,
        now: Timestamp,
        stop: &CancellationToken,
    ) -> Result<u64, RepositoryError> {
        let (mut deleted, mut after) = (0, None);
        let all = self.retention.is_some();
        while !stop.is_cancelled() {
            let page = self.sweep.agents_with_retention(tenant, after, all, CHUNK);
            let page = page.await?;
            for agent in &page {
                if let Some(retention) = self.retention_of(agent) {
                    let age = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
                    let before = now.milliseconds().saturating_sub(age);
                    let idle = Idle {
                        tenant,
                        agent_id: agent.agent_id,
                        before: Timestamp::from_milliseconds(before),
                        now,
                    };
                    deleted += self.delete_idle(&idle, stop).await?;
                }
            }
            if page.len() < CHUNK {
                break;
            }
            after = page.last().map(|last| last.agent_id);
        }
        Ok(deleted)
    }

    /// The shorter time: that of the agent or that of all.
    fn retention_of(&self, found: &AgentRetention) -> Option<Duration> {
        let own = found.retention.as_deref().and_then(parse_retention);
        own.into_iter().chain(self.retention).min()
    }

    async fn delete_idle(
        &self,
        idle: &Idle<'_>,
        stop: &CancellationToken,
    ) -> Result<u64, RepositoryError> {
        let (tenant, agent) = (idle.tenant, idle.agent_id);
        let mut deleted = 0;
        while !stop.is_cancelled() {
            let found = self
                .sweep
                .idle_conversations(tenant, agent, idle.before, CHUNK);
            let found = found.await?;
            let before = deleted;
            for id in &found {
                deleted += u64::from(self.delete(idle, *id).await?);
            }
            // Others have deleted them, or they have become active.
            if found.len() < CHUNK || deleted == before {
                break;
            }
        }
        Ok(deleted)
    }

    async fn delete(&self, idle: &Idle<'_>, id: ConversationId) -> Result<bool, RepositoryError> {
        let delete = DeleteConversation {
            tenant: idle.tenant.clone(),
            id,
            expected: None,
            only_of: None,
            is_erasure: false,
            idle_since_before: Some(idle.before),
            stamp: Stamp {
                time: idle.now,
                actor: PrincipalId::service(),
            },
        };
        let outcome = self.writes.write(delete).await?;
        Ok(matches!(outcome, DeleteOutcome::Deleted(_)))
    }
}

/// The conversations with an agent that are idle since before a time.
struct Idle<'a> {
    tenant: &'a TenantId,
    agent_id: AgentId,
    before: Timestamp,
    now: Timestamp,
}
