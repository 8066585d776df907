//! A cache of agents, and the writes that change it.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Agent, AgentId, AsOf, Listed, Page, Seq, TenantId};
use ports::{AgentQuery, AgentRepository, Clock, Idempotent, RepositoryError};
use writes::{Committed, CreateAgent, DeleteAgent, DeleteOutcome, UpdateAgent};

use super::{CachedCommand, Caches};

/// An [`AgentRepository`] that caches the results of `find`.
pub struct CachedAgents {
    inner: Arc<dyn AgentRepository>,
    caches: Caches,
    clock: Arc<dyn Clock>,
}

impl CachedAgents {
    /// Creates a cache in front of `inner`.
    pub fn new(inner: Arc<dyn AgentRepository>, caches: Caches, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner,
            caches,
            clock,
        }
    }
}

#[async_trait]
impl AgentRepository for CachedAgents {
    async fn find(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
        let key = (tenant.clone(), id);
        // The position is read before the entry. In the other order, a client that follows the log
        // from the returned position could miss a change between the two reads.
        let log_position = self.caches.applied.position(tenant).unwrap_or(Seq(0));
        if self.caches.applied.is_trusted(self.clock.running_for())
            && let Some((agent, entry_position)) = self.caches.agents.get(&key)
        {
            let position = log_position.max(entry_position);
            return Ok(AsOf {
                value: Some(agent),
                position,
            });
        }
        let load = self.caches.agents.begin_load(&key);
        let found = self.inner.find(tenant, id).await?;
        if let Some(agent) = &found.value
            && self.caches.applied.follow(tenant, found.position)
        {
            self.caches
                .agents
                .fill(load, key, Arc::clone(agent), found.position);
        }
        Ok(found)
    }

    async fn find_version(
        &self,
        tenant: &TenantId,
        id: AgentId,
        version: i64,
    ) -> Result<Option<Arc<Agent>>, RepositoryError> {
        self.inner.find_version(tenant, id, version).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError> {
        self.inner.list(tenant, query).await
    }
}

impl Caches {
    fn apply_agent(&self, tenant: TenantId, agent: Agent, committed: Committed) {
        self.applied.record_write(&tenant, committed);
        let key = (tenant, agent.id);
        self.agents.replace(key, Arc::new(agent), committed.last);
    }
}

impl CachedCommand for CreateAgent {
    type Before = (TenantId, Agent);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.agent.clone())
    }

    fn apply(
        (tenant, agent): Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        if let Ok(Idempotent::Applied(committed)) = outcome {
            caches.apply_agent(tenant, agent, *committed);
        }
    }
}

impl CachedCommand for UpdateAgent {
    type Before = (TenantId, Agent);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.agent.clone())
    }

    fn apply(
        (tenant, agent): Self::Before,
        caches: &Caches,
        outcome: &Result<Self::Outcome, RepositoryError>,
    ) {
        match outcome {
            Ok(Some(committed)) => caches.apply_agent(tenant, agent, *committed),
            // The caller may have computed the change from an outdated entry.
            Ok(None) | Err(_) => caches.agents.remove(&(tenant, agent.id)),
        }
    }
}

impl CachedCommand for DeleteAgent {
    type Before = (TenantId, AgentId);

    fn before(&self, _caches: &Caches) -> Self::Before {
        (self.tenant.clone(), self.id)
    }

    fn apply(key: Self::Before, caches: &Caches, outcome: &Result<Self::Outcome, RepositoryError>) {
        if let Ok(DeleteOutcome::Deleted(committed)) = outcome {
            caches.live.cancel_of_agent(&key.0, key.1);
            caches.applied.record_write(&key.0, *committed);
            caches.agents.mark_changed(key, committed.last);
        } else {
            caches.agents.remove(&key);
        }
    }
}
