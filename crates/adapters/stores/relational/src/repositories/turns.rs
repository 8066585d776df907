//! Turns.

use std::future::Future;

use async_trait::async_trait;
use domain::{AsOf, ConversationId, Listed, Page, TenantId, Turn, TurnId};
use ports::{FoundTurn, RepositoryError, TurnQuery, TurnRepository};

use crate::store::Store;

/// The SQL on turns.
pub trait TurnSql: Store {
    /// `TurnRepository::find`.
    fn find_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> impl Future<Output = Result<AsOf<Option<FoundTurn>>, RepositoryError>> + Send;

    /// `TurnRepository::find_current`.
    fn find_current_turn(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> impl Future<Output = Result<Option<FoundTurn>, RepositoryError>> + Send;

    /// `TurnRepository::list`.
    fn list_turns(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> impl Future<Output = Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError>> + Send;
}

/// Turns in a store.
pub struct Turns<S>(pub S);

#[async_trait]
impl<S: TurnSql> TurnRepository for Turns<S> {
    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        self.0.find_turn(tenant, id).await
    }

    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        self.0.find_current_turn(tenant, conversation).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        self.0.list_turns(tenant, conversation, query).await
    }
}
