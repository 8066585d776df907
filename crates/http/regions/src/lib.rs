//! Regions: a home region with the primary database, and far regions with replicas of it.
//!
//! The layer [`serve_by_region`] is the innermost around all handlers, and the only place that knows
//! where an operation is answered. At a node of a far region it forwards requests to the home
//! region, as the rows of [`kit::operations`](mod@kit::operations) and the position in `X-Consistency` require. At a
//! home region it checks the bodies of forwarded requests, and adds `X-Consistency` to the responses
//! to writes. `docs/regions.md` describes what is promised.

mod access;
mod endpoints;
mod far_node;
mod forward;
mod forwarded_headers;
mod forwarded_stream;
mod home_layer;
mod layer;
pub mod list;
mod newest_writes;
pub mod ping;
mod positioned_body;
mod socket_commands;
mod state;
mod streamed_upload;

use kit::operations::{Access::AnyCredential, Served::Here};

pub use endpoints::configure_endpoints;
pub use far_node::FarNode;
pub use layer::serve_by_region;
pub use state::{HomeRegion, RegionRole, Regions};

kit::operations! {
    get "/api/regions" list::list_regions AnyCredential; served = Here;
    get "/api/ping" ping::get_ping AnyCredential; served = Here;
}
