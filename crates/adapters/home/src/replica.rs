//! The ports of a replica, as the node of a far region uses them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{NodeId, RegionName};
use ports::{FarNodeReport, LiveNode, NodeProcess, NodeRepository, RepositoryError, Storage};

/// Returns the ports of a replica without those that write on their own account: a far node has no
/// lease.
pub fn replica_storage(replica: Storage) -> Storage {
    Storage {
        nodes: Arc::new(NoLeases),
        ..replica
    }
}

/// The nodes of a far region: none of them runs turns, so none has a lease.
struct NoLeases;

#[async_trait]
impl NodeRepository for NoLeases {
    async fn insert(
        &self,
        _: NodeId,
        _: &NodeProcess,
        _: Duration,
    ) -> Result<u32, RepositoryError> {
        Ok(1)
    }

    async fn renew(&self, _: NodeId, _: Duration) -> Result<Option<u32>, RepositoryError> {
        Ok(Some(1))
    }

    async fn report_far(
        &self,
        _: &RegionName,
        _: &FarNodeReport,
        _: Duration,
    ) -> Result<(), RepositoryError> {
        Ok(())
    }

    async fn list(&self) -> Result<Vec<LiveNode>, RepositoryError> {
        Ok(Vec::new())
    }

    async fn delete(&self, _: NodeId) -> Result<(), RepositoryError> {
        Ok(())
    }
}
