//! Nodes.

use std::time::Duration;

use domain::NodeId;
use ports::{LiveNode, NodeInFarRegion, RepositoryError};
use sqlx::FromRow;
use uuid::Uuid;

use crate::column::{StoredTime, corrupt};

/// A row of a node with a valid lease.
#[derive(Debug, FromRow)]
pub struct StoredNode {
    id: Uuid,
    version: Option<String>,
    started_at: Option<StoredTime>,
    level: Option<i32>,
    lease_until: StoredTime,
    /// The remaining validity of the lease, in milliseconds.
    lease_left: i64,
    running_turns: i64,
    /// Null for a node on this store.
    region: Option<String>,
    connected_at: Option<StoredTime>,
}

impl TryFrom<StoredNode> for LiveNode {
    type Error = RepositoryError;

    fn try_from(row: StoredNode) -> Result<Self, RepositoryError> {
        let connected_at = row.connected_at.map(Into::into);
        let region = row.region.map(|name| name.parse());
        let region = region.transpose().map_err(corrupt("far_nodes.region"))?;
        let far_region = region.map(|name| NodeInFarRegion { name, connected_at });
        Ok(Self {
            id: NodeId::new(row.id),
            version: row.version,
            started_at: row.started_at.map(Into::into),
            level: row.level,
            lease_until: row.lease_until.into(),
            lease_left: Duration::from_millis(u64::try_from(row.lease_left).unwrap_or(0)),
            running_turns: u32::try_from(row.running_turns).map_err(corrupt("turns.node_id"))?,
            far_region,
        })
    }
}
