//! Nodes.

use std::time::Duration;

use domain::NodeId;
use ports::{LiveNode, RepositoryError};
use sqlx::FromRow;
use uuid::Uuid;

use crate::column::{StoredTime, corrupt};

/// A row of a node with a valid lease.
#[derive(Debug, FromRow)]
pub struct StoredNode {
    id: Uuid,
    version: Option<String>,
    started_at: Option<StoredTime>,
    lease_until: StoredTime,
    /// The remaining validity of the lease, in milliseconds.
    lease_left: i64,
    running_turns: i64,
}

impl TryFrom<StoredNode> for LiveNode {
    type Error = RepositoryError;

    fn try_from(row: StoredNode) -> Result<Self, RepositoryError> {
        Ok(Self {
            id: NodeId::new(row.id),
            version: row.version,
            started_at: row.started_at.map(Into::into),
            lease_until: row.lease_until.into(),
            lease_left: Duration::from_millis(u64::try_from(row.lease_left).unwrap_or(0)),
            running_turns: u32::try_from(row.running_turns).map_err(corrupt("turns.node_id"))?,
        })
    }
}
