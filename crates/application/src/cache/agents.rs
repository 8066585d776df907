//! A cache of agents.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Agent, AgentId, AsOf, IdempotencyEntry, Listed, Page, Seq, Stamp, TenantId};
use ports::{
    AgentQuery, AgentRepository, Clock, Committed, DeleteOutcome, Idempotent, RepositoryError,
};

use super::Caches;

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

    fn apply_write(&self, tenant: &TenantId, agent: &Agent, committed: Committed) {
        let key = (tenant.clone(), agent.id);
        self.caches
            .agents
            .replace(key, Arc::new(agent.clone()), committed.last);
        self.caches.applied.record_write(tenant, committed);
    }
}

#[async_trait]
impl AgentRepository for CachedAgents {
    async fn insert(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Committed>, RepositoryError> {
        let outcome = self.inner.insert(tenant, agent, stamp, entry).await?;
        if let Idempotent::Applied(committed) = &outcome {
            self.apply_write(tenant, agent, *committed);
        }
        Ok(outcome)
    }

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
        let ticket = self.caches.agents.begin_load(&key);
        let found = self.inner.find(tenant, id).await?;
        if let Some(agent) = &found.value
            && self.caches.applied.follow(tenant, found.position)
        {
            self.caches
                .agents
                .fill(ticket, key, Arc::clone(agent), found.position);
        }
        Ok(found)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError> {
        self.inner.list(tenant, query).await
    }

    async fn update(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
    ) -> Result<Option<Committed>, RepositoryError> {
        let outcome = self.inner.update(tenant, agent, stamp).await;
        match &outcome {
            Ok(Some(committed)) => self.apply_write(tenant, agent, *committed),
            // The caller may have computed the change from an outdated entry.
            Ok(None) | Err(_) => self.caches.agents.remove(&(tenant.clone(), agent.id)),
        }
        outcome
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: AgentId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<DeleteOutcome, RepositoryError> {
        let outcome = self.inner.delete(tenant, id, expected, stamp).await;
        if let Ok(DeleteOutcome::Deleted(committed)) = &outcome {
            self.caches.live.cancel_of_agent(tenant, id);
            self.caches
                .agents
                .mark_changed((tenant.clone(), id), committed.last);
            self.caches.applied.record_write(tenant, *committed);
        } else {
            self.caches.agents.remove(&(tenant.clone(), id));
        }
        outcome
    }
}
