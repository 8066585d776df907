//! Nodes.

use std::{future::Future, time::Duration};

use async_trait::async_trait;
use domain::{NodeId, RegionName};
use ports::{FarNodeReport, LiveNode, NodeProcess, NodeRepository, RepositoryError};

use crate::Store;

/// The SQL for nodes. Counts are those of the nodes that are not marked as dead.
pub trait NodeSql: Store {
    /// Inserts a node and returns the number of nodes, as `NodeRepository::insert`.
    fn insert_node(
        connection: &mut Self::Connection,
        id: NodeId,
        process: &NodeProcess,
        lease: Duration,
    ) -> impl Future<Output = Result<i64, RepositoryError>> + Send;

    /// Renews a lease and returns the number of nodes, as `NodeRepository::renew`.
    fn renew_lease(
        connection: &mut Self::Connection,
        id: NodeId,
        lease: Duration,
    ) -> impl Future<Output = Result<Option<i64>, RepositoryError>> + Send;

    /// `NodeRepository::report_far`.
    fn report_far_node(
        &self,
        region: &RegionName,
        report: &FarNodeReport,
        lease: Duration,
    ) -> impl Future<Output = Result<(), RepositoryError>> + Send;

    /// `NodeRepository::list`.
    fn live_nodes(&self) -> impl Future<Output = Result<Vec<LiveNode>, RepositoryError>> + Send;

    /// `NodeRepository::delete`.
    fn delete_node(&self, id: NodeId) -> impl Future<Output = Result<(), RepositoryError>> + Send;
}

/// Nodes in a store.
pub struct Nodes<S>(pub S);

#[async_trait]
impl<S: NodeSql> NodeRepository for Nodes<S> {
    async fn insert(
        &self,
        id: NodeId,
        process: &NodeProcess,
        lease: Duration,
    ) -> Result<u32, RepositoryError> {
        let process = process.clone();
        let insert = self.0.transaction(move |connection| {
            Box::pin(async move { S::insert_node(connection, id, &process, lease).await })
        });
        insert.await.map(node_count)
    }

    async fn renew(&self, id: NodeId, lease: Duration) -> Result<Option<u32>, RepositoryError> {
        let renew = self
            .0
            .transaction(move |connection| Box::pin(S::renew_lease(connection, id, lease)));
        Ok(renew.await?.map(node_count))
    }

    async fn report_far(
        &self,
        region: &RegionName,
        report: &FarNodeReport,
        lease: Duration,
    ) -> Result<(), RepositoryError> {
        self.0.report_far_node(region, report, lease).await
    }

    async fn list(&self) -> Result<Vec<LiveNode>, RepositoryError> {
        self.0.live_nodes().await
    }

    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError> {
        self.0.delete_node(id).await
    }
}

fn node_count(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
