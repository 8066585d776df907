//! `GET /api/nodes`.

use actix_web::{HttpResponse, web::Data};
use application::node::NodeStatus;
use domain::{NodeId, RegionName, Timestamp};
use kit::{
    auth::{Authorized, MetricsRead},
    problem::ApiError,
    state::HttpState,
};
use serde::Serialize;
use utoipa::ToSchema;

/// The live nodes.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeListing {
    data: Vec<NodeEntry>,
}

/// A running process of the service, in any region. Times are of the store's clock.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEntry {
    /// The id, which is new at each start.
    id: NodeId,
    /// True for the node that responds. A request to a far region is passed on to a node of the home
    /// region, which responds.
    responding: bool,
    /// The name of its region; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    region: Option<RegionName>,
    /// The time at which a node of a far region opened its stream to the home region; absent for other
    /// nodes, and without a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    connected_at: Option<Timestamp>,
    /// The version of its program; absent for versions that do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<String>,
    /// The time at which its process started; absent for versions that do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    started_at: Option<Timestamp>,
    /// The level of its program: what it can read and continue. While nodes have several levels, some
    /// new features wait for the last one to be replaced. Absent for versions that do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    level: Option<i32>,
    /// The time at which its lease ends unless it is renewed. Other nodes then fail its turns. A node
    /// of a far region is then no longer listed.
    lease_expires_at: Timestamp,
    /// The time in milliseconds since the last renewal of its lease, or since the last report of a
    /// node of a far region. Nodes renew it every three seconds.
    renewed_milliseconds_ago: u64,
    /// The number of turns that it runs. Nodes of far regions run none.
    running_turns: u32,
}

impl NodeEntry {
    /// Creates the entry of a node on the store of the region `own`, or of a far region.
    fn new(status: NodeStatus, own: Option<&RegionName>) -> Self {
        let NodeStatus {
            node,
            is_own,
            renewed_ago,
        } = status;
        let (region, connected_at) = match node.far_region {
            Some(far) => (Some(far.name), far.connected_at),
            None => (own.cloned(), None),
        };
        Self {
            id: node.id,
            responding: is_own,
            region,
            connected_at,
            version: node.version,
            started_at: node.started_at,
            level: node.level,
            lease_expires_at: node.lease_until,
            renewed_milliseconds_ago: u64::try_from(renewed_ago.as_millis()).unwrap_or(u64::MAX),
            running_turns: node.running_turns,
        }
    }
}

/// List the live nodes: the processes that share the store, and those of far regions.
///
/// A node is listed while its lease is valid, so up to ten seconds after its process was killed.
#[utoipa::path(
    get, path = "/api/nodes", operation_id = "list_nodes", tag = "Operation",
    responses((status = 200, description = "The live nodes.", body = NodeListing)),
)]
pub async fn list_nodes(
    authorized: Authorized<MetricsRead>,
    state: Data<HttpState>,
) -> Result<HttpResponse, ApiError> {
    let nodes = authorized.node.list().await?.into_iter();
    let own = state.region.name.as_ref();
    let data = nodes.map(|node| NodeEntry::new(node, own)).collect();
    Ok(HttpResponse::Ok().json(NodeListing { data }))
}
