//! Turns of dead nodes, turns that were queued for too long, and conversations that are kept no longer.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, ConversationId, NodeId, TenantId, Timestamp, TurnId};
use ports::{AgentRetention, RepositoryError, SweepRepository, TurnAddress};
use uuid::Uuid;

use super::Repositories;
use crate::{
    Store, column, page_budget, parameters,
    read::{self, ReadAs},
    statements,
};

/// The columns `tenant_id`, `conversation_id` and `id` of a turn.
type StoredAddress = (String, Uuid, Uuid);

/// The id of an agent, and the time for which its conversations are kept.
type StoredRetention = (Uuid, Option<String>);

/// The statements for the sweep of turns.
pub trait SweepSql:
    Store<Row: ReadAs<(String,)> + ReadAs<(Uuid,)> + ReadAs<StoredAddress> + ReadAs<StoredRetention>>
{
    /// True if only one process can use the store, so that all other nodes are dead.
    const IS_OF_ONE_PROCESS: bool;

    statements! {
        /// Deletes the nodes that are marked as dead and have no turns in progress.
        const DELETE_DEAD_NODES: &'static str;

        /// Marks dead nodes other than 1.
        const MARK_DEAD_NODES: &'static str;

        /// Deletes the records of keys whose claims are of nodes that are unknown or marked as dead.
        const RELEASE_CLAIMS: &'static str;

        /// The ids of the tenants with turns of dead nodes, or with turns that are queued for longer than
        /// 1 or can start.
        const TENANTS_TO_SWEEP: &'static str;

        /// The turns in progress under node 1.
        const IN_PROGRESS_UNDER: &'static str;

        /// At most 3 agents of tenant 1 after id 2.
        const AGENTS: &'static str;

        /// Those that state how long their conversations are kept.
        const AGENTS_WITH_RETENTION: &'static str;

        /// At most 4 conversations of tenant 1 with agent 2 that are idle since before 3.
        const IDLE_CONVERSATIONS: &'static str;

        /// All queued turns.
        const QUEUED: &'static str;
    }
}

#[async_trait]
impl<S: SweepSql> SweepRepository for Repositories<S> {
    fn is_single_process(&self) -> bool {
        S::IS_OF_ONE_PROCESS
    }

    async fn mark_dead_nodes(&self, own: NodeId) -> Result<u64, RepositoryError> {
        let mark = self.0.transaction(move |connection| {
            Box::pin(async move {
                S::execute_in(connection, S::DELETE_DEAD_NODES, &[]).await?;
                let marked =
                    S::execute_in(connection, S::MARK_DEAD_NODES, parameters![own]).await?;
                S::execute_in(connection, S::RELEASE_CLAIMS, &[]).await?;
                Ok(marked)
            })
        });
        mark.await
    }

    async fn tenants_to_sweep(&self, max_wait: Duration) -> Result<Vec<TenantId>, RepositoryError> {
        let parameters = parameters![max_wait];
        let rows = self.0.fetch_own(S::TENANTS_TO_SWEEP, parameters).await?;
        read::rows("turns", rows, |(id,): (String,)| {
            column::parse("turns.tenant_id", &id)
        })
    }

    async fn in_progress_under(&self, node: NodeId) -> Result<Vec<TurnAddress>, RepositoryError> {
        let parameters = parameters![node];
        let rows = self.0.fetch_own(S::IN_PROGRESS_UNDER, parameters).await?;
        read::rows("turns", rows, address)
    }

    async fn agents_with_retention(
        &self,
        tenant: &TenantId,
        after: Option<AgentId>,
        all: bool,
        limit: usize,
    ) -> Result<Vec<AgentRetention>, RepositoryError> {
        let statement = if all {
            S::AGENTS
        } else {
            S::AGENTS_WITH_RETENTION
        };
        let after = after.map_or(Uuid::nil(), AgentId::uuid);
        let parameters = parameters![tenant, after, page_budget::row_count(limit)];
        let rows = self.0.fetch_own(statement, parameters).await?;
        read::rows("agents", rows, |(agent, retention): StoredRetention| {
            Ok(AgentRetention {
                agent_id: AgentId::new(agent),
                retention,
            })
        })
    }

    async fn idle_conversations(
        &self,
        tenant: &TenantId,
        agent_id: AgentId,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ConversationId>, RepositoryError> {
        let limit = page_budget::row_count(limit);
        let parameters = parameters![tenant, agent_id, before, limit];
        let rows = self.0.fetch_own(S::IDLE_CONVERSATIONS, parameters).await?;
        read::rows("conversations", rows, |(id,): (Uuid,)| {
            Ok(ConversationId::new(id))
        })
    }

    async fn queued(&self) -> Result<Vec<TurnAddress>, RepositoryError> {
        let rows = self.0.fetch_own(S::QUEUED, &[]).await?;
        read::rows("turns", rows, address)
    }
}

fn address((tenant, conversation, turn): StoredAddress) -> Result<TurnAddress, RepositoryError> {
    Ok(TurnAddress {
        tenant: column::parse("turns.tenant_id", &tenant)?,
        conversation_id: ConversationId::new(conversation),
        turn_id: TurnId::new(turn),
    })
}
