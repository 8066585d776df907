//! `GET /api/regions`.

use actix_web::{HttpResponse, web::Data};
use domain::{RegionEntry, RegionName};
use kit::{
    auth::{AnyCredential, Authorized},
    state::HttpState,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::Regions;

/// The regions of the service.
#[derive(Debug, Serialize, ToSchema)]
pub struct RegionListing {
    /// The name of the region that responds; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    region: Option<RegionName>,
    data: Vec<RegionEntry>,
}

/// List the regions of the service.
///
/// A client measures the time of `GET /api/ping` at each `url`, and uses the nearest region. A far
/// region that has not reached its home region since its start lists these two only. A service of one
/// region lists that one.
#[utoipa::path(
    get, path = "/api/regions", operation_id = "list_regions", tag = "Operation",
    responses((status = 200, description = "The regions.", body = RegionListing)),
)]
pub async fn list_regions(
    _: Authorized<AnyCredential>,
    state: Data<HttpState>,
    regions: Data<Regions>,
) -> HttpResponse {
    HttpResponse::Ok().json(RegionListing {
        region: state.region.name.clone(),
        data: regions.listing.read().clone(),
    })
}
