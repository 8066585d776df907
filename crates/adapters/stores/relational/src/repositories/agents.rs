//! Agents.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use domain::{Agent, AgentId, AsOf, Listed, Page, TenantId};
use ports::{AgentQuery, AgentRepository, RepositoryError};

use crate::Store;

/// The SQL on agents.
pub trait AgentSql: Store {
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
}

/// Agents in a store.
pub struct Agents<S>(pub S);

#[async_trait]
impl<S: AgentSql> AgentRepository for Agents<S> {
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
}
