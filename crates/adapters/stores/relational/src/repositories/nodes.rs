//! Nodes.

use std::{future::Future, time::Duration};

use async_trait::async_trait;
use domain::{NodeId, RegionName};
use ports::{FarNodeReport, LiveNode, LiveNodes, NodeProcess, NodeRepository, RepositoryError};

use crate::Store;

/// The columns `count` and `lowest_level` of `LiveNodes`.
type StoredLiveNodes = (i64, i32);

/// The SQL for nodes.
pub trait NodeSql: Store {
    /// `NodeRepository::insert`.
    fn insert_node(
        connection: &mut Self::Connection,
        id: NodeId,
        process: &NodeProcess,
        lease: Duration,
    ) -> impl Future<Output = Result<StoredLiveNodes, RepositoryError>> + Send;

    /// `NodeRepository::renew`.
    fn renew_lease(
        connection: &mut Self::Connection,
        id: NodeId,
        lease: Duration,
    ) -> impl Future<Output = Result<Option<StoredLiveNodes>, RepositoryError>> + Send;

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
    ) -> Result<LiveNodes, RepositoryError> {
        let process = process.clone();
        let insert = self.0.transaction(move |connection| {
            Box::pin(async move { S::insert_node(connection, id, &process, lease).await })
        });
        insert.await.map(live_nodes)
    }

    async fn renew(
        &self,
        id: NodeId,
        lease: Duration,
    ) -> Result<Option<LiveNodes>, RepositoryError> {
        let renew = self
            .0
            .transaction(move |connection| Box::pin(S::renew_lease(connection, id, lease)));
        Ok(renew.await?.map(live_nodes))
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

fn live_nodes((count, lowest_level): StoredLiveNodes) -> LiveNodes {
    LiveNodes {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        lowest_level,
    }
}
