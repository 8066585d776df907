//! The region of this process.

use std::sync::Arc;

use application::{LogPositions, node::Node};
use domain::RegionName;
use parking_lot::RwLock;
use ports::FarNodes;

use super::{FarNode, FarRegions, list::RegionEntry};

/// The region of this process.
pub struct Region {
    /// Its name, if it has one.
    pub name: Option<RegionName>,
    /// Its part among the regions.
    pub role: RegionRole,
    /// All regions, as far as it knows them.
    pub listing: Arc<RwLock<Vec<RegionEntry>>>,
    /// The positions that this process has reached in the logs.
    pub positions: LogPositions,
}

/// The home region of others.
pub struct HomeRegion {
    /// The far regions.
    pub regions: FarRegions,
    /// The nodes of the far regions.
    pub nodes: Arc<dyn FarNodes>,
    /// The node of this process, which stores their reports.
    pub own_node: Arc<Node>,
}

/// The part of a region among all.
pub enum RegionRole {
    /// It is the only one.
    Single,
    /// Its database is the primary.
    Home(HomeRegion),
    /// Its database is a replica.
    Far(Arc<FarNode>),
}
