//! `GET /api/nodes`.

use actix_web::HttpResponse;
use application::node::NodeStatus;
use domain::{NodeId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    auth::{Authorized, MetricsRead},
    problem::ApiError,
};

/// The live nodes.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeListing {
    data: Vec<NodeEntry>,
}

/// A running process of the service. Times are of the store's clock.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeEntry {
    /// The id, which is new at each start.
    id: NodeId,
    /// True for the node that responds.
    responding: bool,
    /// The version of its program; absent for versions that do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<String>,
    /// The time at which its process started; absent for versions that do not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    started_at: Option<Timestamp>,
    /// The time at which its lease ends unless it is renewed. Other nodes then fail its turns.
    lease_expires_at: Timestamp,
    /// The time in milliseconds since the last renewal of its lease. Nodes renew it every three
    /// seconds.
    renewed_milliseconds_ago: u64,
    /// The number of turns that it runs.
    running_turns: u32,
}

impl From<NodeStatus> for NodeEntry {
    fn from(status: NodeStatus) -> Self {
        let NodeStatus {
            node,
            is_own,
            renewed_ago,
        } = status;
        Self {
            id: node.id,
            responding: is_own,
            version: node.version,
            started_at: node.started_at,
            lease_expires_at: node.lease_until,
            renewed_milliseconds_ago: u64::try_from(renewed_ago.as_millis()).unwrap_or(u64::MAX),
            running_turns: node.running_turns,
        }
    }
}

/// List the live nodes: the processes that share the store.
///
/// A node is listed while its lease is valid, so up to ten seconds after its process was killed.
#[utoipa::path(
    get, path = "/api/nodes", operation_id = "list_nodes", tag = "Operation",
    responses((status = 200, description = "The live nodes.", body = NodeListing)),
)]
pub async fn list_nodes(authorized: Authorized<MetricsRead>) -> Result<HttpResponse, ApiError> {
    let nodes = authorized.node.list().await?;
    let data = nodes.into_iter().map(Into::into).collect();
    Ok(HttpResponse::Ok().json(NodeListing { data }))
}
