//! The operations of the HTTP interface as data, one row each.
//!
//! Routes, required scopes, costs, public paths and everything that the OpenAPI document derives
//! from an operation's nature are read from these rows, and no path is matched anywhere else. To
//! add an operation, write its handler and add its row to the `OPERATIONS` of its crate.

mod operation;
mod protocol;
mod rows;
mod table;

pub use operation::{Access, Operation, Served, Streams};
pub use protocol::{ErrorBody, Protocol};
pub use table::OperationTable;

use domain::RatePolicy;

/// The cost of an ordinary operation.
pub const ONE_REQUEST: &[RatePolicy] = &[RatePolicy::Requests];

/// The cost of a chat, on REST and on sockets.
pub const CHAT_COST: &[RatePolicy] = &[RatePolicy::Requests, RatePolicy::Chat];

/// Returns whether a path belongs to the API itself.
pub(crate) fn is_api(path: &str) -> bool {
    first_segment(path) == "api"
}

/// Returns whether a path belongs to the authorization server, whose errors follow RFC 6749.
pub(crate) fn is_oauth(path: &str) -> bool {
    path.starts_with("/oauth2/")
}

/// Returns whether a path is one of those to which nodes of far regions send their own requests.
pub(crate) fn is_region_internal(path: &str) -> bool {
    path.starts_with("/region/")
}

/// Returns whether a path belongs to the metadata that any page may read.
pub(crate) fn is_well_known(path: &str) -> bool {
    path.starts_with("/.well-known/")
}

fn first_segment(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}
