//! The endpoints for nodes of far regions. Only signed requests reach them.

use std::sync::Arc;

use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    http::header::{CACHE_CONTROL, HeaderValue},
    web::{self, Bytes, Data},
};
use domain::{ForwardedRequest, ProblemCode};
use futures::{FutureExt as _, StreamExt as _};
use kit::{
    layers::resource_in,
    problem::ApiError,
    request::QueryParameters,
    sse::{STREAM_CACHING, X_ACCEL_BUFFERING},
    state::HttpState,
};
use uuid::Uuid;

use super::{HomeRegion, RegionRole, Regions, access};

/// Registers the endpoints.
pub fn configure_endpoints(config: &mut web::ServiceConfig) {
    config
        .service(resource_in("", "/region/access").route(web::post().to(access::answer)))
        .service(resource_in("", "/region/uses").route(web::post().to(access::record_uses)))
        .service(resource_in("", "/region/stream").route(web::get().to(open_stream)))
        .service(resource_in("", "/region/signals").route(web::post().to(receive_signals)))
        .service(resource_in("", "/region/node").route(web::post().to(store_report)));
}

/// Opens the stream of signals to a far node.
async fn open_stream(
    request: HttpRequest,
    state: Data<HttpState>,
    regions: Data<Regions>,
) -> Result<HttpResponse, ApiError> {
    let (home, process) = far_process(&request, &regions)?;
    let closing = state.closing.clone().cancelled_owned();
    let lines = home.nodes.open(process, closing.boxed());
    let lines = lines.map(Ok::<_, actix_web::Error>);
    Ok(HttpResponse::Ok()
        .content_type("application/x-ndjson")
        .insert_header((CACHE_CONTROL, STREAM_CACHING))
        .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")))
        .streaming(lines))
}

/// Publishes the signals of a far node.
async fn receive_signals(
    request: HttpRequest,
    regions: Data<Regions>,
    messages: Bytes,
) -> Result<HttpResponse, ApiError> {
    let (home, process) = far_process(&request, &regions)?;
    home.nodes.receive(process, &messages);
    Ok(HttpResponse::NoContent().finish())
}

/// Stores the report of a far node about itself.
async fn store_report(
    request: HttpRequest,
    regions: Data<Regions>,
    body: Bytes,
) -> Result<HttpResponse, ApiError> {
    let forwarded = forwarded_head(&request)?;
    let home = home_region(&regions)?;
    let report = access::parse(&body)?;
    home.own_node.report_far(&forwarded.region, &report).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the signed head of a request. Nothing else may reach these endpoints.
pub(super) fn forwarded_head(request: &HttpRequest) -> Result<Arc<ForwardedRequest>, ApiError> {
    let forwarded = request.extensions().get::<Arc<ForwardedRequest>>().cloned();
    forwarded.ok_or(ApiError::new(ProblemCode::RouteNotFound))
}

fn home_region(regions: &Regions) -> Result<&HomeRegion, ApiError> {
    match &regions.role {
        RegionRole::Home(home) => Ok(home),
        RegionRole::Single | RegionRole::Far(_) => Err(ProblemCode::RouteNotFound.into()),
    }
}

/// Returns the process of the far node that has signed a request.
fn far_process<'a>(
    request: &HttpRequest,
    regions: &'a Regions,
) -> Result<(&'a HomeRegion, Uuid), ApiError> {
    forwarded_head(request)?;
    let home = home_region(regions)?;
    let query = QueryParameters::read(request, &["process"]);
    let process = query.text("process").and_then(|text| text.parse().ok());
    let process = process.ok_or(ApiError::new(ProblemCode::RouteNotFound))?;
    Ok((home, process))
}
