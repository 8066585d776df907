//! Health checks and metrics: `/livez`, `/readyz`, `/metrics`.

use actix_web::{HttpResponse, web::Data};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    auth::{Authorized, MetricsRead},
    problem::ApiError,
    state::ApiState,
};

/// The result of a health check.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    #[schema(value_type = String)]
    status: &'static str,
}

/// Check that the process is running. Uses neither the store nor anything else.
#[utoipa::path(
    get, path = "/livez", operation_id = "get_livez", tag = "Operation",
    responses((status = 200, description = "The process is running.", body = Health)),
)]
pub async fn get_livez() -> HttpResponse {
    HttpResponse::Ok().json(Health { status: "ok" })
}

/// Check that the process can serve requests: the store responds, and the process is not shutting
/// down.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readyz", tag = "Operation",
    responses((status = 200, description = "The process is ready.", body = Health)),
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
    authorized: Authorized<MetricsRead>,
    state: Data<ApiState>,
) -> HttpResponse {
    metrics::gauge!("node_lease_age").set(authorized.node.lease_age());
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body(state.metrics.render())
}
