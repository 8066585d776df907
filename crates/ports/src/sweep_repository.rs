//! Turns without a live node, and turns that waited too long.

use std::time::Duration;

use async_trait::async_trait;
use domain::{ConversationId, NodeId, TenantId, TurnId};

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

/// Turns without a live node, and turns that waited too long. Turns that a version of a higher level
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

    /// Returns the queued turns of all tenants.
    async fn queued(&self) -> Result<Vec<TurnAddress>, RepositoryError>;
}
