//! Running processes in a store: they decide which turns are still being run.

use std::time::Duration;

use async_trait::async_trait;
use domain::{NodeId, RegionName, Timestamp};
use serde::{Deserialize, Serialize};

use crate::RepositoryError;

/// A process that registers as a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeProcess {
    /// The version of the program.
    pub version: String,
    /// The time since the start of the process.
    pub running_for: Duration,
    /// The level of the program.
    pub level: i32,
}

/// The nodes of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveNodes {
    /// The number of nodes that are not marked as dead.
    pub count: u32,
    /// The lowest level of these nodes and of those of far regions. A program from before levels has
    /// level 0.
    pub lowest_level: i32,
}

/// A node of a far region, as it reports itself to the home region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarNodeReport {
    /// The random id of its process.
    pub id: NodeId,
    /// The version of the program.
    pub version: String,
    /// The time since the start of the process.
    pub running_for: Duration,
    /// The time since its stream to the home region was opened; `None` without one.
    pub connected_for: Option<Duration>,
    /// The level of the program. `None` for a version that does not report it.
    #[serde(default)]
    pub level: Option<i32>,
}

/// The region of a node of a far region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInFarRegion {
    /// The name of the region.
    pub name: RegionName,
    /// The time at which its stream to the home region was opened; `None` without one.
    pub connected_at: Option<Timestamp>,
}

/// A node with a valid lease. Times are of the store's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveNode {
    /// The id of the node.
    pub id: NodeId,
    /// The version of its program. `None` for a version that does not report it.
    pub version: Option<String>,
    /// The time at which its process started. `None` for a version that does not report it.
    pub started_at: Option<Timestamp>,
    /// The level of its program. `None` for a version that does not report it.
    pub level: Option<i32>,
    /// The end of the lease.
    pub lease_until: Timestamp,
    /// The time until the end of the lease.
    pub lease_left: Duration,
    /// The number of turns that it runs.
    pub running_turns: u32,
    /// The region of a node that has reported itself from there; `None` for a node on this store.
    pub far_region: Option<NodeInFarRegion>,
}

/// This node, and the nodes that are not marked as dead, this one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The id of this node.
    pub node: NodeId,
    /// The nodes.
    pub live: LiveNodes,
}

/// Running processes in a store. Leases are measured by the store's clock.
#[async_trait]
pub trait NodeRepository: Send + Sync {
    /// Registers a process with a lease. Returns the nodes that are not marked as dead, this one
    /// included. MUST return `Conflict` if the id exists.
    async fn insert(
        &self,
        id: NodeId,
        process: &NodeProcess,
        lease: Duration,
    ) -> Result<LiveNodes, RepositoryError>;

    /// Renews the lease, even if it has expired, unless the node was marked as dead. Returns the
    /// nodes that are not marked as dead, this one included: after the store was unavailable, all
    /// leases have expired. Returns `None` if it is dead or unknown.
    async fn renew(
        &self,
        id: NodeId,
        lease: Duration,
    ) -> Result<Option<LiveNodes>, RepositoryError>;

    /// Records the report of a node of a far region, in place of an earlier one. The node is listed
    /// until its lease ends, and is no node on this store: it is neither counted nor marked as dead.
    /// Until then, its level counts.
    async fn report_far(
        &self,
        region: &RegionName,
        report: &FarNodeReport,
        lease: Duration,
    ) -> Result<(), RepositoryError>;

    /// Returns all nodes with a valid lease, by id, and those of far regions.
    async fn list(&self) -> Result<Vec<LiveNode>, RepositoryError>;

    /// Removes a process that shuts down in order.
    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError>;
}
