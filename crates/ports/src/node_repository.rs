//! Running processes in a store: whose turns are alive.

use std::time::Duration;

use async_trait::async_trait;
use domain::NodeId;

use crate::RepositoryError;

/// Running processes in a store. Leases are measured by the store's clock.
#[async_trait]
pub trait NodeRepository: Send + Sync {
    /// Registers a process with a lease. MUST answer `Conflict` when the id exists.
    async fn insert(&self, id: NodeId, lease: Duration) -> Result<(), RepositoryError>;

    /// Renews the lease, also one that has run out, unless the node was marked as dead. Answers
    /// whether it holds.
    async fn renew(&self, id: NodeId, lease: Duration) -> Result<bool, RepositoryError>;

    /// Forgets a process that ends in order.
    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError>;
}
