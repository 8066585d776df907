//! The endpoints for nodes of far regions. Only signed requests reach them.

use std::sync::Arc;

use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    web::{self, Bytes, Data},
};
use domain::{ForwardedRequest, ProblemCode};
use futures::StreamExt as _;
use ports::FarNodeInfo;

use super::{HomeRegion, RegionRole, access};
use crate::{layers::resource_in, problem::ApiError, request::QueryParameters, state::ApiState};

/// Registers the endpoints.
pub fn configure_endpoints(config: &mut web::ServiceConfig) {
    config
        .service(resource_in("", "/region/access").route(web::post().to(access::answer)))
        .service(resource_in("", "/region/uses").route(web::post().to(access::record_uses)))
        .service(resource_in("", "/region/stream").route(web::get().to(open_stream)))
        .service(resource_in("", "/region/signals").route(web::post().to(receive_signals)));
}

/// Opens the stream of signals to a far node.
async fn open_stream(
    request: HttpRequest,
    state: Data<ApiState>,
) -> Result<HttpResponse, ApiError> {
    let (home, node) = far_node(&request, &state)?;
    let lines = home.nodes.open(node).map(Ok::<_, actix_web::Error>);
    let end = state.closing.clone().cancelled_owned();
    Ok(HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .streaming(lines.take_until(Box::pin(end))))
}

/// Publishes the signals of a far node.
async fn receive_signals(
    request: HttpRequest,
    state: Data<ApiState>,
    messages: Bytes,
) -> Result<HttpResponse, ApiError> {
    let (home, node) = far_node(&request, &state)?;
    home.nodes.receive(node.process, &messages);
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the signed head of a request. Nothing else may reach these endpoints.
pub(super) fn forwarded_head(request: &HttpRequest) -> Result<Arc<ForwardedRequest>, ApiError> {
    let forwarded = request.extensions().get::<Arc<ForwardedRequest>>().cloned();
    forwarded.ok_or(ApiError::new(ProblemCode::RouteNotFound))
}

/// Returns the far node that has signed a request.
fn far_node<'a>(
    request: &HttpRequest,
    state: &'a ApiState,
) -> Result<(&'a HomeRegion, FarNodeInfo), ApiError> {
    let forwarded = forwarded_head(request)?;
    let RegionRole::Home(home) = &state.region.role else {
        return Err(ProblemCode::RouteNotFound.into());
    };
    let query = QueryParameters::read(request, &["process"]);
    let process = query.text("process").and_then(|text| text.parse().ok());
    let process = process.ok_or(ApiError::new(ProblemCode::RouteNotFound))?;
    let region = forwarded.region.clone();
    Ok((home, FarNodeInfo { process, region }))
}
