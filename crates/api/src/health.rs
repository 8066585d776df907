//! Signs of life: `/livez`, `/readyz`, `/metrics`.

use actix_web::{HttpResponse, web::Data};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    access::{Authorized, MetricsRead},
    problem::ApiError,
    state::ApiState,
};

/// A sign of life.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    #[schema(value_type = String)]
    status: &'static str,
}

/// Ask whether the process lives. Touches nothing.
#[utoipa::path(
    get, path = "/livez", operation_id = "get_livez", tag = "Operation",
    responses((status = 200, description = "It lives.", body = Health)),
)]
pub async fn get_livez() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}

/// Ask whether the process can do its work: the store answers, and it is not shutting down.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readyz", tag = "Operation",
    responses((status = 200, description = "It can.", body = Health)),
)]
pub async fn get_readyz(state: Data<ApiState>) -> Result<HttpResponse, ApiError> {
    state.readiness.check().await?;
    Ok(HttpResponse::Ok().json(Health { status: "ok" }))
}

/// Read the service's metrics, in the Prometheus text format.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "Operation",
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain")),
)]
pub async fn get_metrics(
    _authorized: Authorized<MetricsRead>,
    state: Data<ApiState>,
) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body(state.metrics.render())
}
