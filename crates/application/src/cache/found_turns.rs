//! Reads of turns, which show how far other processes have written.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{AsOf, ConversationId, Listed, Page, TenantId, Turn, TurnId};
use ports::{FoundTurn, RepositoryError, ScannedTurns, TurnQuery, TurnRepository, TurnScan};

use super::LogProgress;

/// A [`TurnRepository`] through which changes by other processes reach the waiters of a turn.
pub struct FollowedTurns {
    inner: Arc<dyn TurnRepository>,
    applied: Arc<LogProgress>,
}

impl FollowedTurns {
    /// Creates a repository that reports what it reads from `inner` to `applied`.
    pub fn new(inner: Arc<dyn TurnRepository>, applied: Arc<LogProgress>) -> Self {
        Self { inner, applied }
    }
}

#[async_trait]
impl TurnRepository for FollowedTurns {
    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        let found = self.inner.find(tenant, id).await?;
        self.applied.follow(tenant, found.position);
        Ok(found)
    }

    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        self.inner.find_current(tenant, conversation).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        self.inner.list(tenant, conversation, query).await
    }

    async fn scan(
        &self,
        tenant: &TenantId,
        scan: &TurnScan,
    ) -> Result<AsOf<ScannedTurns>, RepositoryError> {
        self.inner.scan(tenant, scan).await
    }
}
