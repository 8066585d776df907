//! The layer that answers a request here or at home.

use std::{sync::Arc, time::Duration};

use access::AuthContext;
use actix_web::{
    Error, HttpMessage as _, HttpRequest, HttpResponse,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{StatusCode, header::HeaderValue},
    middleware::Next,
    web::{Bytes, Data},
};
use domain::{ProblemCode, Seq};
use futures::StreamExt as _;
use kit::{
    auth::unauthenticated,
    layers::{RoutePattern, forget_body, reject},
    operations::{Access, Operation, Served},
    problem::ApiError,
    region::{X_CONSISTENCY, X_SERVED_BY},
    request::{Upload, routed_path},
    sse,
    state::HttpState,
};

use tokio::time::timeout;

use super::{
    FarNode, RegionRole, Regions,
    forward::{forward, parse_position},
    home_layer::serve_home,
};

/// Answers a request by a handler of this process, or at home. The body has been read.
pub async fn serve_by_region(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let state = request.app_data::<Data<HttpState>>().cloned();
    let regions = request.app_data::<Data<Regions>>().cloned();
    let (Some(state), Some(regions)) = (state, regions) else {
        return Err(ApiError::new(ProblemCode::Internal).into());
    };
    match &regions.role {
        RegionRole::Single => Ok(next.call(request).await?.map_into_boxed_body()),
        RegionRole::Home(_) => serve_home(state, request, next).await,
        RegionRole::Far(far) => serve_far(&state, far, request, next).await,
    }
}

/// Serves a request in a far region.
async fn serve_far(
    state: &HttpState,
    far: &Arc<FarNode>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let Some(operation) = operation_of(&request, state) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let is_authenticated = caller_of(&request).is_some();
    match operation.served {
        // Clients of the authorization server authenticate in the body, and readers of files by links.
        Served::Home
            if is_authenticated || operation.access == Access::Public || operation.takes_link =>
        {
            return Ok(forward_request(state, far, operation, request).await);
        }
        Served::Replica if is_authenticated => {}
        Served::Home | Served::Here | Served::Replica => {
            return Ok(next.call(request).await?.map_into_boxed_body());
        }
    }
    let requested = match requested_position(operation, &request) {
        Ok(requested) => requested,
        Err(error) => return Ok(reject(request, error)),
    };
    if let Some(response) = answer_ahead(state, far, operation, &request, requested).await {
        count_read("home");
        return Ok(answered_at_home(operation, request, response));
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    let is_cancelled = is_store_unavailable(&response);
    if is_cancelled || response.status() == StatusCode::NOT_FOUND {
        // The replica may not have it yet, or has cancelled the query to replay a change.
        let forwarded = forward_read(state, far, operation, response.request()).await;
        if is_cancelled && forwarded.is_err() {
            return Ok(response);
        }
        count_read("home");
        let (request, _) = response.into_parts();
        return Ok(ServiceResponse::new(request, into_response(forwarded)));
    }
    count_read("replica");
    let headers = response.headers_mut();
    headers.insert(X_SERVED_BY, HeaderValue::from_static("replica"));
    Ok(response)
}

/// Answers a read at home if the replica cannot be read, or has not reached the position that the read
/// requires. Without home, a position that only this node remembers is no reason to fail.
async fn answer_ahead(
    state: &HttpState,
    far: &Arc<FarNode>,
    operation: &'static Operation,
    request: &ServiceRequest,
    requested: Option<Seq>,
) -> Option<Result<HttpResponse, ApiError>> {
    let caller = caller_of(request)?;
    let (tenant, wait) = (&caller.principal.tenant, far.wait_for_replica());
    let positions = &state.region.positions;
    let is_readable = state.authenticator.is_replica_readable();
    if is_readable {
        let position = far.required_position(&caller, requested)?;
        let reached = positions.reaches(tenant, position, wait);
        if reached.await.unwrap_or(false) {
            return None;
        }
    }
    let response = forward_read(state, far, operation, request.request()).await;
    if is_readable && is_cut_off(&response) {
        let reached = match requested {
            None => Ok(true),
            Some(requested) => positions.reaches(tenant, requested, Duration::ZERO).await,
        };
        if reached.unwrap_or(false) {
            return None;
        }
    }
    Some(response)
}

fn is_cut_off(response: &Result<HttpResponse, ApiError>) -> bool {
    matches!(response, Err(error) if error.code == ProblemCode::HomeUnavailable)
}

/// Returns whether a handler could not read the replica: it is unavailable, or has cancelled the query.
fn is_store_unavailable(response: &ServiceResponse) -> bool {
    let error = response.response().error();
    let error = error.and_then(|error| error.as_error::<ApiError>());
    error.is_some_and(|error| error.code == ProblemCode::StoreUnavailable)
}

fn count_read(served: &'static str) {
    metrics::counter!("region_reads", "served" => served).increment(1);
}

async fn forward_request(
    state: &HttpState,
    far: &Arc<FarNode>,
    operation: &'static Operation,
    mut request: ServiceRequest,
) -> ServiceResponse {
    if operation.takes_file {
        let payload = request.take_payload();
        let response = forward_upload(state, far, operation, request.request(), payload).await;
        return answered_at_home(operation, request, response);
    }
    let body = match take_body(&mut request).await {
        Ok(body) => body,
        Err(error) => return reject(request, error),
    };
    let response = forward(state, far, operation, request.request(), body.into()).await;
    forget_body(request.request());
    answered_at_home(operation, request, response)
}

/// Streams a file to the home region, once the caller streams few others.
async fn forward_upload(
    state: &HttpState,
    far: &Arc<FarNode>,
    operation: &'static Operation,
    request: &HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    let caller = request.extensions().get::<Arc<AuthContext>>().cloned();
    let caller = caller.ok_or_else(unauthenticated)?;
    let permit = far.uploads.acquire(caller.quota_holder());
    let permit = timeout(state.bodies.deadline, permit).await;
    let _permit = permit.map_err(|_elapsed| ApiError::new(ProblemCode::Overloaded))?;
    let upload = Upload::new(request.clone(), payload, state);
    let send = async |body| forward(state, far, operation, request, body).await;
    upload.pass_on(send).await
}

async fn forward_read(
    state: &HttpState,
    far: &Arc<FarNode>,
    operation: &'static Operation,
    request: &HttpRequest,
) -> Result<HttpResponse, ApiError> {
    forward(state, far, operation, request, Bytes::new().into()).await
}

fn answered_at_home(
    operation: &'static Operation,
    request: ServiceRequest,
    response: Result<HttpResponse, ApiError>,
) -> ServiceResponse {
    let request = request.into_parts().0;
    request
        .extensions_mut()
        .insert(RoutePattern(operation.path));
    ServiceResponse::new(request, into_response(response))
}

fn into_response(response: Result<HttpResponse, ApiError>) -> HttpResponse {
    response.unwrap_or_else(HttpResponse::from_error)
}

pub(super) fn operation_of(
    request: &ServiceRequest,
    state: &HttpState,
) -> Option<&'static Operation> {
    let (method, path) = (request.method().as_str(), routed_path(request.request()));
    state.operations.of_request(method, path)
}

pub(super) fn caller_of(request: &ServiceRequest) -> Option<Arc<AuthContext>> {
    request.extensions().get::<Arc<AuthContext>>().cloned()
}

/// Returns the position in `X-Consistency`.
pub(super) fn header_position(request: &ServiceRequest) -> Result<Option<Seq>, ApiError> {
    let malformed = || ApiError::header("X-Consistency", "must be a position of the event log");
    let header = request.headers().get(X_CONSISTENCY);
    let position = header.map(|value| parse_position(value.as_bytes()).ok_or_else(malformed));
    position.transpose()
}

/// Returns the newest position that a client requires: `X-Consistency`, or the position after which
/// it continues to read the log.
fn requested_position(
    operation: &Operation,
    request: &ServiceRequest,
) -> Result<Option<Seq>, ApiError> {
    let position = header_position(request)?;
    if !operation.reads_after {
        return Ok(position);
    }
    Ok(position.max(sse::requested_position(request.request())))
}

/// Takes the body, which is in memory.
pub(super) async fn take_body(request: &mut ServiceRequest) -> Result<Bytes, ApiError> {
    let mut payload = request.take_payload();
    let mut body = Bytes::new();
    while let Some(chunk) = payload.next().await {
        let lost = |error: actix_web::error::PayloadError| {
            ApiError::new(ProblemCode::MalformedJson).with_source(error.to_string())
        };
        let chunk = chunk.map_err(lost)?;
        // Usually there is one, which is not copied.
        body = if body.is_empty() {
            chunk
        } else {
            [body, chunk].concat().into()
        };
    }
    Ok(body)
}
