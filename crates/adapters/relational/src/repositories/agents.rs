//! Agents.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use domain::{
    Agent, AgentId, AsOf, IdempotencyEntry, Listed, MemorySize as _, Page, Stamp, TenantId,
    Timestamp,
};
use ports::{AgentQuery, AgentRepository, Committed, DeleteOutcome, Idempotent, RepositoryError};

use super::TurnSql;
use crate::{
    CreateAgent, FactsQuery, Plan, UpdateAgent, WriteOp, WriteOutcome, calls::mismatch, event_rows,
    plan,
};

/// The SQL on agents.
pub trait AgentSql: TurnSql {
    /// `AgentRepository::find`.
    fn find_agent(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> impl Future<Output = Result<AsOf<Option<Arc<Agent>>>, RepositoryError>> + Send;

    /// `AgentRepository::list`.
    fn list_agents(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> impl Future<Output = Result<AsOf<Page<Listed<Agent>>>, RepositoryError>> + Send;

    /// Returns the version of an agent that is not deleted.
    fn agent_version(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        id: AgentId,
    ) -> impl Future<Output = Result<Option<i64>, RepositoryError>> + Send;

    /// Marks an agent as deleted, and removes its capabilities.
    fn delete_agent(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        id: AgentId,
        at: Timestamp,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;
}

/// The size of the largest agent that is written together with others. A larger one takes the
/// database many milliseconds, for which the writes of other tenants must not wait.
const MAX_GROUPED_BYTES: usize = 32 * 1024;

/// Agents in a store.
pub struct Agents<S>(pub S);

#[async_trait]
impl<S: AgentSql> AgentRepository for Agents<S> {
    async fn insert(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Committed>, RepositoryError> {
        let create = CreateAgent {
            tenant: tenant.clone(),
            agent: agent.clone(),
            stamp: stamp.clone(),
            idempotency: idempotency.cloned(),
        };
        if agent.memory_bytes() <= MAX_GROUPED_BYTES {
            return self.0.group_commit().create_agent(create).await;
        }
        match commit_alone(&self.0, WriteOp::CreateAgent(Box::new(create))).await? {
            WriteOutcome::CreateAgent(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    async fn find(
        &self,
        tenant: &TenantId,
        id: AgentId,
    ) -> Result<AsOf<Option<Arc<Agent>>>, RepositoryError> {
        self.0.find_agent(tenant, id).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        query: &AgentQuery,
    ) -> Result<AsOf<Page<Listed<Agent>>>, RepositoryError> {
        self.0.list_agents(tenant, query).await
    }

    async fn update(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
    ) -> Result<Option<Committed>, RepositoryError> {
        let update = UpdateAgent {
            tenant: tenant.clone(),
            agent: agent.clone(),
            stamp: stamp.clone(),
        };
        if agent.memory_bytes() <= MAX_GROUPED_BYTES {
            return self.0.group_commit().update_agent(update).await;
        }
        match commit_alone(&self.0, WriteOp::UpdateAgent(Box::new(update))).await? {
            WriteOutcome::UpdateAgent(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }

    async fn delete(
        &self,
        tenant: &TenantId,
        id: AgentId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<DeleteOutcome, RepositoryError> {
        let (tenant, stamp) = (tenant.clone(), stamp.clone());
        self.0
            .transaction(move |connection| {
                Box::pin(
                    async move { delete::<S>(connection, &tenant, id, expected, &stamp).await },
                )
            })
            .await
    }
}

/// Commits a write in a transaction of its own.
async fn commit_alone<S: TurnSql>(store: &S, op: WriteOp) -> Result<WriteOutcome, RepositoryError> {
    store
        .transaction(move |connection| {
            Box::pin(async move {
                let ops = [op];
                let query = FactsQuery::new(&ops, None);
                let facts = S::read_facts(connection, &query).await?;
                let Plan { rows, outcomes } = plan(&ops, &facts);
                let outcome = outcomes.into_iter().next();
                let outcome = outcome.unwrap_or_else(|| {
                    let source = "the plan has no outcome".into();
                    Err(RepositoryError::Unavailable(source))
                })?;
                S::write(connection, &rows).await?;
                Ok(outcome)
            })
        })
        .await
}

/// A transaction of its own: the agent may have any number of open turns, and the writes of other
/// tenants do not wait until all of them are cancelled.
async fn delete<S: AgentSql>(
    connection: &mut S::Connection,
    tenant: &TenantId,
    id: AgentId,
    expected: Option<i64>,
    stamp: &Stamp,
) -> Result<DeleteOutcome, RepositoryError> {
    let head = S::lock_tenant(connection, tenant).await?;
    let Some(version) = S::agent_version(connection, tenant, id).await? else {
        return Ok(DeleteOutcome::NotFound);
    };
    plan::check_version("agent", version, expected)?;
    let open = S::open_turns(connection, tenant, id, None).await?;
    S::delete_agent(connection, tenant, id, stamp.time).await?;
    let (rows, committed) = plan::log_deletion(tenant, head, &open, stamp, |position| {
        event_rows::agent_deleted(position, id, version)
    });
    S::write(connection, &rows).await?;
    Ok(DeleteOutcome::Deleted(committed))
}
