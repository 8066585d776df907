//! Turns of dead nodes, and turns that were queued for too long.

use std::{future::Future, time::Duration};

use async_trait::async_trait;
use domain::{ConversationId, NodeId, TenantId, TurnId};
use ports::{RepositoryError, TurnAddress, TurnRecovery};
use uuid::Uuid;

use super::TurnSql;
use crate::column;

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

    async fn in_progress_under(&self, node: NodeId) -> Result<Vec<TurnAddress>, RepositoryError> {
        let turns = self.0.turns_in_progress(node).await?;
        turns.into_iter().map(address).collect()
    }

    async fn queued(&self) -> Result<Vec<TurnAddress>, RepositoryError> {
        let turns = self.0.queued_turns().await?;
        turns.into_iter().map(address).collect()
    }
}

fn address((tenant, conversation, turn): StoredAddress) -> Result<TurnAddress, RepositoryError> {
    Ok(TurnAddress {
        tenant: column::parse("turns.tenant_id", &tenant)?,
        conversation_id: ConversationId::new(conversation),
        turn_id: TurnId::new(turn),
    })
}
