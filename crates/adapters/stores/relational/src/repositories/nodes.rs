//! Nodes.

use std::time::Duration;

use async_trait::async_trait;
use domain::{NodeId, RegionName};
use ports::{FarNodeReport, LiveNode, LiveNodes, NodeProcess, NodeRepository, RepositoryError};

use super::Repositories;
use crate::{
    Store,
    column::corrupt,
    parameters,
    read::{self, ReadAs},
    statements,
    stored::StoredNode,
};

/// The columns `count` and `lowest_level` of `LiveNodes`.
type StoredLiveNodes = (i64, i32);

statements! {
    const DELETE: &str = "delete from nodes where id = $1";
}

/// The statements on nodes.
pub trait NodeSql: Store<Row: ReadAs<StoredNode> + ReadAs<StoredLiveNodes>> {
    statements! {
        /// Inserts node 1 with the lease 2, version 3, running for 4, and level 5. Returns the live nodes.
        const INSERT: &'static str;

        /// Renews the lease of node 1 to 2, unless it is marked as dead. Returns the live nodes.
        const RENEW: &'static str;

        /// The nodes with valid leases.
        const LIST: &'static str;

        /// Stores node 1 of region 2 with version 3, running for 4, connected for 5, the lease 6 and
        /// level 7.
        const REPORT_FAR: &'static str;
    }
}

#[async_trait]
impl<S: NodeSql> NodeRepository for Repositories<S> {
    async fn insert(
        &self,
        id: NodeId,
        process: &NodeProcess,
        lease: Duration,
    ) -> Result<LiveNodes, RepositoryError> {
        let process = process.clone();
        let insert = self.0.transaction(move |connection| {
            Box::pin(async move {
                let (version, level) = (process.version.as_str(), i64::from(process.level));
                let parameters = parameters![id, lease, version, process.running_for, level];
                S::insert_in(connection, "node", S::INSERT, parameters).await
            })
        });
        let inserted = insert.await?.into_iter().next();
        let inserted = read::one("nodes", inserted, |row| Ok(live_nodes(row)))?;
        inserted.ok_or_else(|| corrupt("nodes")("no row"))
    }

    async fn renew(
        &self,
        id: NodeId,
        lease: Duration,
    ) -> Result<Option<LiveNodes>, RepositoryError> {
        let renew = self.0.transaction(move |connection| {
            Box::pin(
                async move { S::fetch_all_in(connection, S::RENEW, parameters![id, lease]).await },
            )
        });
        let renewed = renew.await?.into_iter().next();
        read::one("nodes", renewed, |row| Ok(live_nodes(row)))
    }

    async fn report_far(
        &self,
        region: &RegionName,
        report: &FarNodeReport,
        lease: Duration,
    ) -> Result<(), RepositoryError> {
        let parameters = parameters![
            report.id,
            region.as_str(),
            report.version.as_str(),
            report.running_for,
            report.connected_for,
            lease,
            report.level.map(i64::from),
        ];
        self.0.execute(S::REPORT_FAR, parameters).await.map(drop)
    }

    async fn list(&self) -> Result<Vec<LiveNode>, RepositoryError> {
        let rows = self.0.fetch_all(S::LIST, &[]).await?;
        read::rows("nodes", rows, |row: StoredNode| row.try_into())
    }

    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError> {
        self.0.execute(DELETE, parameters![id]).await.map(drop)
    }
}

fn live_nodes((count, lowest_level): StoredLiveNodes) -> LiveNodes {
    LiveNodes {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        lowest_level,
    }
}
