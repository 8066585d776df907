//! Health checks and metrics: `/livez`, `/readyz`, `/metrics`.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web::Data};
use kit::{
    auth::{Authorized, MetricsRead},
    problem::ApiError,
    readiness::NotReady,
    state::HttpState,
};
use serde::Serialize;
use url::form_urlencoded;
use utoipa::ToSchema;

use crate::RestState;

const OK: &str = "ok";

/// The result of a health check.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    #[schema(value_type = String)]
    status: &'static str,
    /// The connections of the process, with `verbose`: each is `ok` or `unavailable`. Required is
    /// `store`; in a far region `access`, and `store` or `home`. The service works without the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    checks: Option<BTreeMap<&'static str, &'static str>>,
}

impl Health {
    const OK: Self = Self {
        status: OK,
        checks: None,
    };
}

/// Check that the process is running. Uses neither the store nor anything else.
#[utoipa::path(
    get, path = "/livez", operation_id = "get_livez", tag = "Operation",
    responses((status = 200, description = "The process is running.", body = Health)),
)]
pub async fn get_livez() -> HttpResponse {
    HttpResponse::Ok().json(Health::OK)
}

/// Check that the process can serve requests: the store responds, the process is not shutting down,
/// and, in a far region, credentials are accepted. There the home region can replace the store.
#[utoipa::path(
    get, path = "/readyz", operation_id = "get_readyz", tag = "Operation",
    params(("verbose" = Option<String>, Query, description = "If present, with any value or none: \
        return `checks`.")),
    responses((status = 200, description = "The process is ready.", body = Health)),
)]
pub async fn get_readyz(
    request: HttpRequest,
    state: Data<HttpState>,
) -> Result<HttpResponse, ApiError> {
    let ready = state.readiness.check().await;
    let store = ready.map_err(|reason| not_ready_problem(&reason))?;
    let mut parameters = form_urlencoded::parse(request.query_string().as_bytes());
    let is_verbose = parameters.any(|(name, _)| name == "verbose");
    let checks = is_verbose.then(|| {
        let connections = state.readiness.connections().chain([("store", store)]);
        let shown = |is_ok| if is_ok { OK } else { "unavailable" };
        connections
            .map(|(name, is_ok)| (name, shown(is_ok)))
            .collect()
    });
    Ok(HttpResponse::Ok().json(Health { status: OK, checks }))
}

/// Returns the problem of a process that is not ready, with the names of the lost connections.
fn not_ready_problem(reason: &NotReady) -> ApiError {
    let problem = ApiError::new(reason.code);
    if reason.unavailable.is_empty() {
        return problem;
    }
    problem.with_detail(format!("Unavailable: {}.", reason.unavailable.join(", ")))
}

/// Read the service's metrics, in the Prometheus text format.
#[utoipa::path(
    get, path = "/metrics", operation_id = "get_metrics", tag = "Operation",
    responses((status = 200, description = "The metrics.", body = String, content_type = "text/plain")),
)]
pub async fn get_metrics(
    authorized: Authorized<MetricsRead>,
    state: Data<RestState>,
) -> HttpResponse {
    metrics::gauge!("node_lease_age").set(authorized.node.lease_age());
    HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4")
        .body((state.metrics)())
}
