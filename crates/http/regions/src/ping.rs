//! `GET /api/ping`.

use actix_web::{HttpResponse, web::Data};
use domain::RegionName;
use kit::{
    auth::{AnyCredential, Authorized},
    state::HttpState,
};
use serde::Serialize;
use utoipa::ToSchema;

/// The region that responds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pong {
    /// Its name; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    region: Option<RegionName>,
}

/// Measure the time to a region: the cheapest response to a valid credential.
///
/// Neither a database nor another region is involved, unless the credential is new to the node.
#[utoipa::path(
    get, path = "/api/ping", tag = "Operation",
    responses((status = 200, description = "The region that responds.", body = Pong)),
)]
pub async fn get_ping(_: Authorized<AnyCredential>, state: Data<HttpState>) -> HttpResponse {
    let region = state.region.name.clone();
    HttpResponse::Ok().json(Pong { region })
}
