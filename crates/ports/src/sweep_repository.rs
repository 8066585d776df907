//! Turns without a live node, turns that waited too long, and conversations that are kept no longer.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, ConversationId, NodeId, TenantId, Timestamp, TurnId};

use crate::RepositoryError;

/// The ids by which a turn is found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnAddress {
    /// The tenant.
    pub tenant: TenantId,
    /// The conversation of the turn.
    pub conversation_id: ConversationId,
    /// The turn.
    pub turn_id: TurnId,
}

/// An agent, and how long its conversations are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRetention {
    /// The agent.
    pub agent_id: AgentId,
    /// The time that it states, as it is written in its configuration.
    pub retention: Option<String>,
}

/// Turns without a live node, turns that waited too long, and conversations that are kept no longer. Turns that a version of a higher level
/// has marked with it MUST be left to nodes of that level: no method returns them.
#[async_trait]
pub trait SweepRepository: Send + Sync {
    /// Returns `true` if only one process can open this store, so that all other registered
    /// processes are known to be dead.
    fn is_single_process(&self) -> bool;

    /// Marks processes as dead, but never `own`, and returns the number of newly marked ones. These
    /// are the processes whose lease has expired by the store's clock, and none unless the lease of
    /// `own` is valid. In a store of one process, these are all others. Removes processes that were
    /// marked before and have no turn in progress. MUST release the keys that processes have claimed
    /// which are marked or unknown by then: they have no records any more.
    async fn mark_dead_nodes(&self, own: NodeId) -> Result<u64, RepositoryError>;

    /// Returns the tenants in which a sweep would have something to do. MUST use one
    /// statement.
    async fn tenants_to_sweep(&self, max_wait: Duration) -> Result<Vec<TenantId>, RepositoryError>;

    /// Returns the turns in progress under a node.
    async fn in_progress_under(&self, node: NodeId) -> Result<Vec<TurnAddress>, RepositoryError>;

    /// Lists the agents of a tenant after one, in the order of their ids, at most `limit`: all, or only those that
    /// state how long their conversations are kept.
    async fn agents_with_retention(
        &self,
        tenant: &TenantId,
        after: Option<AgentId>,
        all: bool,
        limit: usize,
    ) -> Result<Vec<AgentRetention>, RepositoryError>;

    /// Returns at most `limit` conversations with an agent whose last message is from before a time, the oldest
    /// first: of one without messages the creation counts, and of an imported one not before its import. MUST
    /// leave out those with an open turn or with a call that waits for an answer.
    async fn idle_conversations(
        &self,
        tenant: &TenantId,
        agent_id: AgentId,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ConversationId>, RepositoryError>;

    /// Returns the queued turns of all tenants.
    async fn queued(&self) -> Result<Vec<TurnAddress>, RepositoryError>;
}
