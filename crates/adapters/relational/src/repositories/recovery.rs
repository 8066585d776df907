//! Turns of dead nodes, and turns that were queued for too long.

use std::{future::Future, time::Duration};

use async_trait::async_trait;
use domain::{ConversationId, NodeId, Problem, Stamp, TenantId, TurnId};
use ports::{Committed, RepositoryError, Sweep, SweepOutcome, TurnAddress, TurnRecovery};
use uuid::Uuid;

use super::{TurnSql, turns::lock_and_find};
use crate::{
    column,
    plan::{self, SweptConversation},
};

/// The columns `tenant_id`, `conversation_id` and `id` of a turn.
type StoredAddress = (String, Uuid, Uuid);

/// The SQL for the recovery of turns.
pub trait RecoverySql: TurnSql {
    /// True if only one process can use the store, so that all other nodes are dead.
    const IS_OF_ONE_PROCESS: bool;

    /// `TurnRecovery::mark_dead_nodes`.
    fn mark_dead_nodes(
        &self,
        own: NodeId,
    ) -> impl Future<Output = Result<u64, RepositoryError>> + Send;

    /// The ids of the tenants that `TurnRecovery::tenants_to_sweep` returns.
    fn tenants_to_sweep(
        &self,
        max_wait: Duration,
    ) -> impl Future<Output = Result<Vec<String>, RepositoryError>> + Send;

    /// The turns in progress under `node`.
    fn turns_in_progress(
        &self,
        node: NodeId,
    ) -> impl Future<Output = Result<Vec<StoredAddress>, RepositoryError>> + Send;

    /// All queued turns.
    fn queued_turns(
        &self,
    ) -> impl Future<Output = Result<Vec<StoredAddress>, RepositoryError>> + Send;

    /// The conversations with turns to fail or to start, with their queued turns.
    fn conversations_to_sweep(
        connection: &mut Self::Connection,
        sweep: &Sweep,
    ) -> impl Future<Output = Result<Vec<SweptConversation>, RepositoryError>> + Send;
}

/// Recovery of turns in a store.
pub struct Recovery<S>(pub S);

#[async_trait]
impl<S: RecoverySql> TurnRecovery for Recovery<S> {
    fn is_single_process(&self) -> bool {
        S::IS_OF_ONE_PROCESS
    }

    async fn mark_dead_nodes(&self, own: NodeId) -> Result<u64, RepositoryError> {
        self.0.mark_dead_nodes(own).await
    }

    async fn tenants_to_sweep(&self, max_wait: Duration) -> Result<Vec<TenantId>, RepositoryError> {
        let tenants = self.0.tenants_to_sweep(max_wait).await?;
        let parse = |id: &String| column::parse("turns.tenant_id", id);
        tenants.iter().map(parse).collect()
    }

    async fn sweep(&self, sweep: &Sweep) -> Result<SweepOutcome, RepositoryError> {
        let sweep = sweep.clone();
        self.0
            .transaction(move |connection| {
                Box::pin(async move { sweep_tenant::<S>(connection, &sweep).await })
            })
            .await
    }

    async fn in_progress_under(&self, node: NodeId) -> Result<Vec<TurnAddress>, RepositoryError> {
        let turns = self.0.turns_in_progress(node).await?;
        turns.into_iter().map(address).collect()
    }

    async fn queued(&self) -> Result<Vec<TurnAddress>, RepositoryError> {
        let turns = self.0.queued_turns().await?;
        turns.into_iter().map(address).collect()
    }

    async fn fail_queued(
        &self,
        tenant: &TenantId,
        id: TurnId,
        problem: &Problem,
        stamp: &Stamp,
    ) -> Result<Option<Committed>, RepositoryError> {
        let (tenant, problem, stamp) = (tenant.clone(), problem.clone(), stamp.clone());
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let found = lock_and_find::<S>(connection, &tenant, id, None).await?;
                    let Some((row, facts)) = found else {
                        return Ok(None);
                    };
                    let (rows, committed) = plan::fail_queued(&facts, &row, &problem, &stamp);
                    S::write(connection, &rows).await?;
                    Ok(committed)
                })
            })
            .await
    }
}

async fn sweep_tenant<S: RecoverySql>(
    connection: &mut S::Connection,
    sweep: &Sweep,
) -> Result<SweepOutcome, RepositoryError> {
    S::lock_tenant(connection, &sweep.tenant).await?;
    let conversations = S::conversations_to_sweep(connection, sweep).await?;
    if conversations.is_empty() {
        return Ok(SweepOutcome::default());
    }
    let query = plan::sweep_query(sweep, &conversations);
    let facts = S::read_facts(connection, &query).await?;
    let (rows, swept) = plan::sweep(&facts, &conversations, sweep);
    S::write(connection, &rows).await?;
    Ok(swept)
}

fn address((tenant, conversation, turn): StoredAddress) -> Result<TurnAddress, RepositoryError> {
    Ok(TurnAddress {
        tenant: column::parse("turns.tenant_id", &tenant)?,
        conversation_id: ConversationId::new(conversation),
        turn_id: TurnId::new(turn),
    })
}
