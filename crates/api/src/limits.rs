//! `GET /api/limits`.

use actix_web::{HttpResponse, web::Data};
use domain::Sizes;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    access::{AnyCredential, Authorized},
    state::ApiState,
};

/// Every limit in force for the caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsBody {
    /// How large things may be.
    sizes: Sizes,
    /// Seconds in which a body must arrive.
    body_seconds: u64,
}

/// Read every limit in force for the caller.
#[utoipa::path(
    get, path = "/api/limits", operation_id = "get_limits", tag = "Catalogue",
    responses((status = 200, description = "The limits.", body = LimitsBody)),
)]
pub async fn get_limits(
    _authorized: Authorized<AnyCredential>,
    state: Data<ApiState>,
) -> HttpResponse {
    HttpResponse::Ok().json(LimitsBody {
        sizes: state.sizes.clone(),
        body_seconds: state.body_deadline.as_secs(),
    })
}
