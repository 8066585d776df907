//! Regions: a home region with the primary database, and far regions with replicas of it.
//!
//! The layer [`serve_by_region`] is the innermost around all handlers, and the only place that knows
//! where an operation is answered. At a node of a far region it forwards requests to the home
//! region, as the rows of [`crate::operations`] and the position in `X-Consistency` require. At a
//! home region it checks the bodies of forwarded requests, and adds `X-Consistency` to the responses
//! to writes. `docs/regions.md` describes what is promised.

mod access;
mod endpoints;
mod far_node;
mod far_regions;
mod forward;
mod forwarded_headers;
mod forwarded_stream;
mod home_layer;
mod layer;
mod list;
mod newest_writes;
mod ping;
mod positioned_body;
mod socket_commands;
mod state;

pub use endpoints::configure_endpoints;
pub use far_node::FarNode;
pub use far_regions::FarRegions;
pub use layer::serve_by_region;
pub use list::{__path_list_regions, RegionEntry, RegionListing, list_regions};
pub use ping::{__path_get_ping, Pong, get_ping};
pub use socket_commands::HomeCommand;
pub use state::{HomeRegion, Region, RegionRole};

use actix_web::http::header::{HeaderName, HeaderValue};

/// The position of the tenant's log that a response to a write has reached, or that a read requires.
pub const X_CONSISTENCY: HeaderName = HeaderName::from_static("x-consistency");
/// The signed head of a request that a far region has forwarded.
pub const X_REGION_REQUEST: HeaderName = HeaderName::from_static("x-region-request");
/// The database that has answered a request to a far region: `replica` or `home`.
pub const X_SERVED_BY: HeaderName = HeaderName::from_static("x-served-by");
/// The value of this header if the home region has answered.
pub const HOME: HeaderValue = HeaderValue::from_static("home");
