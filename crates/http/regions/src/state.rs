//! The regions, as this process knows them.

use std::sync::Arc;

use application::node::Node;
use domain::RegionEntry;
use parking_lot::RwLock;
use ports::FarNodes;

use super::FarNode;

/// The regions, as this process knows them.
pub struct Regions {
    /// The part of its own region.
    pub role: RegionRole,
    /// All regions.
    pub listing: Arc<RwLock<Vec<RegionEntry>>>,
}

impl Regions {
    /// Returns whether this process belongs to the home region of others.
    pub fn is_home(&self) -> bool {
        matches!(self.role, RegionRole::Home(_))
    }
}

/// The home region of others.
pub struct HomeRegion {
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
