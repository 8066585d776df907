//! Running processes in a store: they decide which turns are still being run.

use std::time::Duration;

use async_trait::async_trait;
use domain::NodeId;

use crate::RepositoryError;

/// Running processes in a store. Leases are measured by the store's clock.
#[async_trait]
pub trait NodeRepository: Send + Sync {
    /// Registers a process with a lease. MUST return `Conflict` if the id exists.
    async fn insert(&self, id: NodeId, lease: Duration) -> Result<(), RepositoryError>;

    /// Renews the lease, even if it has expired, unless the node was marked as dead. Returns `true`
    /// if the lease is valid.
    async fn renew(&self, id: NodeId, lease: Duration) -> Result<bool, RepositoryError>;

    /// Removes a process that shuts down in order.
    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError>;
}
