//! The ports of a replica, as the node of a far region uses them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{NodeId, RegionName};
use ports::{
    FarNodeReport, LiveNode, LiveNodes, NodeProcess, NodeRepository, RepositoryError, Storage,
};

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

/// A far node writes nothing, so it decides nothing by the level of others and need not know it.
const ALONE: LiveNodes = LiveNodes {
    count: 1,
    lowest_level: 0,
};

#[async_trait]
impl NodeRepository for NoLeases {
    async fn insert(
        &self,
        _: NodeId,
        _: &NodeProcess,
        _: Duration,
    ) -> Result<LiveNodes, RepositoryError> {
        Ok(ALONE)
    }

    async fn renew(&self, _: NodeId, _: Duration) -> Result<Option<LiveNodes>, RepositoryError> {
        Ok(Some(ALONE))
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
