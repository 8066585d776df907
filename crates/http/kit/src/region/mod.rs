//! The region of this process, as far as every surface knows it.

mod far_regions;

use actix_web::http::header::{HeaderName, HeaderValue};
use application::LogPositions;
use domain::RegionName;

pub use far_regions::FarRegions;

/// The position of the tenant's log that a response to a write has reached, or that a read requires.
pub const X_CONSISTENCY: HeaderName = HeaderName::from_static("x-consistency");
/// The signed head of a request that a far region has forwarded.
pub const X_REGION_REQUEST: HeaderName = HeaderName::from_static("x-region-request");
/// The database that has answered a request to a far region: `replica` or `home`.
pub const X_SERVED_BY: HeaderName = HeaderName::from_static("x-served-by");
/// The value of this header if the home region has answered.
pub const HOME: HeaderValue = HeaderValue::from_static("home");

/// The region of this process.
pub struct OwnRegion {
    /// Its name, if it has one.
    pub name: Option<RegionName>,
    /// The far regions whose requests it accepts, if it is the home of others.
    pub far_regions: Option<FarRegions>,
    /// The positions that this process has reached in the logs.
    pub positions: LogPositions,
}
