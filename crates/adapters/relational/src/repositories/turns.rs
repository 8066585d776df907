//! Turns.

use std::{collections::HashMap, future::Future};

use async_trait::async_trait;
use domain::{AgentId, AsOf, ConversationId, Listed, NodeId, Page, Stamp, TenantId, Turn, TurnId};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, CompletedTurn, FinishOutcome, FinishTurn, FoundTurn,
    RecordTurnOutcome, Reply, RepositoryError, TurnQuery, TurnRepository,
};

use crate::{
    Facts, FactsQuery, InTenant, TurnRow,
    plan::{self, TurnToCancel},
    store::Store,
};

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

    /// Locks the tenants of `query`, then reads its facts.
    fn read_facts(
        connection: &mut Self::Connection,
        query: &FactsQuery,
    ) -> impl Future<Output = Result<Facts, RepositoryError>> + Send;

    /// Reads turns with their replies.
    fn read_turns(
        connection: &mut Self::Connection,
        wanted: &[InTenant<TurnId>],
    ) -> impl Future<Output = Result<HashMap<InTenant<TurnId>, TurnRow>, RepositoryError>> + Send;

    /// Returns the open turns of an agent, or of one of its conversations, by id.
    fn open_turns(
        connection: &mut Self::Connection,
        tenant: &TenantId,
        agent_id: AgentId,
        conversation: Option<ConversationId>,
    ) -> impl Future<Output = Result<Vec<TurnToCancel>, RepositoryError>> + Send;
}

/// Turns in a store.
pub struct Turns<S>(pub S);

#[async_trait]
impl<S: TurnSql> TurnRepository for Turns<S> {
    async fn record_completed_turn(
        &self,
        completed_turn: CompletedTurn,
    ) -> Result<RecordTurnOutcome, RepositoryError> {
        let group = self.0.group_commit();
        group.record_completed_turn(completed_turn).await
    }

    async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        self.0.group_commit().begin_turn(begin).await
    }

    async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        self.0.group_commit().finish_turn(finish).await
    }

    async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError> {
        let (tenant, stamp) = (tenant.clone(), stamp.clone());
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let found = lock_and_find::<S>(connection, &tenant, id, node).await?;
                    let Some((row, facts)) = found else {
                        return Ok(CancelOutcome::NotFound);
                    };
                    let (rows, outcome) =
                        plan::cancel_turn(&facts, &row, partial.as_ref(), node, &stamp);
                    S::write(connection, &rows).await?;
                    Ok(outcome)
                })
            })
            .await
    }

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

/// Locks the tenant and finds a turn to end from outside, with the facts for that decision. `node`
/// is the node on which the next queued turn is to start.
pub(super) async fn lock_and_find<S: TurnSql>(
    connection: &mut S::Connection,
    tenant: &TenantId,
    id: TurnId,
    node: Option<NodeId>,
) -> Result<Option<(TurnRow, Facts)>, RepositoryError> {
    S::lock_tenant(connection, tenant).await?;
    let key = (tenant.clone(), id);
    let mut turns = S::read_turns(connection, std::slice::from_ref(&key)).await?;
    let Some(row) = turns.remove(&key) else {
        return Ok(None);
    };
    let query = FactsQuery::for_ending(&row, node);
    let facts = S::read_facts(connection, &query).await?;
    Ok(Some((row, facts)))
}
