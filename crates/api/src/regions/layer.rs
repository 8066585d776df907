//! The layer that answers a request here or at home.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    Error, HttpMessage as _, HttpResponse,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{
        StatusCode,
        header::{HeaderName, HeaderValue},
    },
    middleware::Next,
    web::{Bytes, BytesMut, Data},
};
use domain::{ForwardedRequest, ProblemCode, Seq};
use futures::StreamExt as _;

use super::{
    FarNode, RegionRole, X_CONSISTENCY, X_SERVED_BY,
    forward::{forward, parse_position},
};
use crate::{
    events,
    layers::{RoutePattern, reject},
    operations::{self, Access, Operation, Served},
    problem::ApiError,
    request::{REPLAYED, routed_path},
    state::ApiState,
};

/// Answers a request by a handler of this process, or at home. The body has been read.
pub async fn serve_by_region(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let Some(state) = request.app_data::<Data<ApiState>>().cloned() else {
        return Err(ApiError::new(ProblemCode::Internal).into());
    };
    match &state.region.role {
        RegionRole::Single => Ok(next.call(request).await?.map_into_boxed_body()),
        RegionRole::Home(_) => serve_home(&state, request, next).await,
        RegionRole::Far(far) => serve_far(&state, far, request, next).await,
    }
}

/// Serves a request at home.
async fn serve_home(
    state: &ApiState,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let forwarded = request.extensions().get::<Arc<ForwardedRequest>>().cloned();
    if let Some(forwarded) = forwarded {
        let body = take_body(&mut request).await?;
        if !forwarded.has_body(&body) {
            tracing::warn!(region = %forwarded.region, "forwarded request rejected: other body");
            return Ok(reject(request, ProblemCode::InvalidCredentials.into()));
        }
        request.set_payload(Payload::from(body));
    }
    let is_write = operation_of(&request).is_some_and(Operation::is_write);
    let caller = caller_of(&request);
    let mut response = next.call(request).await?.map_into_boxed_body();
    if let (true, Some(caller)) = (is_write, caller) {
        // A response without an effect of its own may depend on a write through another node.
        let is_own = response.status().is_success() && !is_replayed(&response);
        let position = state
            .region
            .positions
            .newest(&caller.principal.tenant, is_own);
        match position.await {
            Ok(position) => set_position(&mut response, position),
            Err(error) => {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, "a response has no position of the event log");
            }
        }
    }
    Ok(response)
}

/// Serves a request in a far region.
async fn serve_far(
    state: &ApiState,
    far: &FarNode,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let Some(operation) = operation_of(&request) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let Some(caller) = caller_of(&request) else {
        // Clients of the authorization server authenticate in the body.
        if operation.access == Access::Public && operation.served == Served::Home {
            return Ok(forward_request(far, operation, request).await);
        }
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    if operation.served == Served::Home {
        return Ok(forward_request(far, operation, request).await);
    }
    if operation.served == Served::Here {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let requested = match requested_position(operation, &request) {
        Ok(requested) => requested,
        Err(error) => return Ok(reject(request, error)),
    };
    if let Some(position) = far.required_position(&caller, requested) {
        let (tenant, wait) = (&caller.principal.tenant, far.wait_for_replica());
        let reached = state.region.positions.reaches(tenant, position, wait);
        if !reached.await.unwrap_or(false) {
            count_read("home");
            return Ok(forward_request(far, operation, request).await);
        }
    }
    let response = next.call(request).await?.map_into_boxed_body();
    if response.status() == StatusCode::NOT_FOUND {
        // The replica may not have it yet.
        count_read("home");
        let (request, _) = response.into_parts();
        let response = forward(far, operation, &request, Bytes::new()).await;
        return Ok(ServiceResponse::new(request, into_response(response)));
    }
    count_read("replica");
    Ok(with_header(
        response,
        X_SERVED_BY,
        HeaderValue::from_static("replica"),
    ))
}

fn count_read(served: &'static str) {
    metrics::counter!("region_reads", "served" => served).increment(1);
}

async fn forward_request(
    far: &FarNode,
    operation: &'static Operation,
    mut request: ServiceRequest,
) -> ServiceResponse {
    let body = match take_body(&mut request).await {
        Ok(body) => body,
        Err(error) => return reject(request, error),
    };
    let request = request.into_parts().0;
    request
        .extensions_mut()
        .insert(RoutePattern(operation.path));
    let response = forward(far, operation, &request, body).await;
    ServiceResponse::new(request, into_response(response))
}

fn into_response(response: Result<HttpResponse, ApiError>) -> HttpResponse {
    response.unwrap_or_else(HttpResponse::from_error)
}

fn operation_of(request: &ServiceRequest) -> Option<&'static Operation> {
    operations::of_request(request.method().as_str(), routed_path(request.request()))
}

fn caller_of(request: &ServiceRequest) -> Option<Arc<AuthContext>> {
    request.extensions().get::<Arc<AuthContext>>().cloned()
}

/// Returns the newest position that a client requires: `X-Consistency`, or the position after which
/// it continues to read the log.
fn requested_position(
    operation: &Operation,
    request: &ServiceRequest,
) -> Result<Option<Seq>, ApiError> {
    let malformed = || ApiError::header("X-Consistency", "must be a position of the event log");
    let header = request.headers().get(X_CONSISTENCY);
    let position = header.map(|value| parse_position(value.as_bytes()).ok_or_else(malformed));
    let read_after = match operation.id {
        "list_events" => events::requested_position(request.request()),
        _ => None,
    };
    Ok(position.transpose()?.max(read_after))
}

fn is_replayed(response: &ServiceResponse) -> bool {
    response.headers().contains_key(&REPLAYED.0)
}

fn set_position(response: &mut ServiceResponse, position: Seq) {
    let headers = response.headers_mut();
    headers.insert(X_CONSISTENCY, HeaderValue::from(position.0));
}

fn with_header(
    mut response: ServiceResponse,
    name: HeaderName,
    value: HeaderValue,
) -> ServiceResponse {
    response.headers_mut().insert(name, value);
    response
}

/// Takes the body, which is in memory.
async fn take_body(request: &mut ServiceRequest) -> Result<Bytes, ApiError> {
    let mut payload = request.take_payload();
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let lost = |error: actix_web::error::PayloadError| {
            ApiError::new(ProblemCode::MalformedJson).with_source(error.to_string())
        };
        body.extend_from_slice(&chunk.map_err(lost)?);
    }
    Ok(body.freeze())
}
