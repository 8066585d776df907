//! Request id, one log line, and metrics for every request.

use std::time::Instant;

use actix_web::{
    Error, HttpMessage, HttpRequest, HttpResponse,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse, Url},
    error::InternalError,
    http::header::{HeaderName, HeaderValue},
    http::{ConnectionType, StatusCode},
    middleware::Next,
    web::Data,
};
use futures::FutureExt;
use server::ConnectionState;

use super::{
    RoutePattern,
    cors::CorsHeaders,
    read_body::declared_length,
    request_metrics::record_request,
    security_headers::{is_reached_over_tls, set_security_headers},
};
use crate::{
    operations,
    problem::{ApiError, FailureCause, respond},
    state::HttpState,
};

/// The module of these lines in `LOG__LEVEL`.
const LOG_TARGET: &str = "http";

/// The header with the id of a request, which clients may choose.
pub const X_REQUEST_ID: &str = "x-request-id";
const REQUEST_ID: HeaderName = HeaderName::from_static(X_REQUEST_ID);

/// The id of a request in the log.
#[derive(Debug, Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// Returns the id of a request that has passed [`trace_request`].
    pub fn of(request: &HttpRequest) -> Option<String> {
        let extensions = request.extensions();
        let id = extensions.get::<Self>()?;
        id.0.to_str().ok().map(ToOwned::to_owned)
    }

    fn choose(request: &ServiceRequest, state: &HttpState) -> Self {
        match request.headers().get(REQUEST_ID) {
            Some(id) if is_acceptable(id.as_bytes()) => Self(id.clone()),
            _ => {
                let mut buffer = uuid::Uuid::encode_buffer();
                let text = state.ids.next_id().hyphenated().encode_lower(&mut buffer);
                Self(HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown")))
            }
        }
    }
}

fn is_acceptable(id: &[u8]) -> bool {
    (1..=128).contains(&id.len())
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

/// Assigns an id to a request, and records its outcome. This is the outermost layer: a panic in any
/// other becomes a response here.
pub async fn trace_request(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let Some(state) = request.app_data::<Data<HttpState>>().cloned() else {
        return Err(ApiError::new(domain::ProblemCode::Internal).into());
    };
    let id = RequestId::choose(&request, &state);
    request.extensions_mut().insert(id.clone());
    let connection = ConnectionState::of(request.request());
    connection.begin_request(!matches!(request.parts().1, Payload::None));
    if let Some(length) = declared_length(&request) {
        connection.declare_body(length);
    }
    let started = Instant::now();
    // Needed for a response after the request has been consumed.
    let uri = request.uri().clone();
    let cors_headers = CorsHeaders::of(&request, &state.site.allowed_origins);
    let caught = std::panic::AssertUnwindSafe(next.call(request))
        .catch_unwind()
        .await;
    let outcome = caught.unwrap_or_else(|_panic| {
        Err(ApiError::new(domain::ProblemCode::Internal)
            .with_source("a middleware panicked")
            .into())
    });
    let is_upgraded =
        |response: &ServiceResponse<_>| response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let is_upgraded = outcome.as_ref().is_ok_and(is_upgraded);
    let mut response = match outcome {
        Ok(response) if is_upgraded => {
            connection.switch_protocol();
            response.map_into_boxed_body()
        }
        Ok(response) => connection.end_request_with(response.map_into_boxed_body()),
        Err(error) => {
            connection.end_request();
            let requested = Url::new(uri);
            let mut response = respond_without_request(&error, &state, &requested, &id);
            let headers = response.headers_mut();
            let is_oauth = operations::is_oauth(requested.path());
            set_security_headers(headers, is_reached_over_tls(&state), is_oauth);
            cors_headers.write_to(headers);
            return Err(InternalError::from_response(error, response).into());
        }
    };
    response.headers_mut().insert(REQUEST_ID, id.0.clone());
    if state.readiness.is_draining() && !is_upgraded {
        // The client's next request goes to another node instead of a closed connection.
        let head = response.response_mut().head_mut();
        head.set_connection_type(ConnectionType::Close);
    }
    record(&response, &id, started);
    Ok(response)
}

/// Creates the response to a request that was consumed by a layer that failed.
fn respond_without_request(
    error: &Error,
    state: &HttpState,
    requested: &Url,
    id: &RequestId,
) -> HttpResponse {
    let internal = ApiError::new(domain::ProblemCode::Internal);
    let error = error.as_error::<ApiError>().unwrap_or(&internal);
    let request_id = id.0.to_str().unwrap_or_default();
    let path = requested.uri().path();
    tracing::error!(request_id, path, code = %error, "middleware failed; responding with an error");
    let mut response = respond(
        error,
        &state.operations,
        requested,
        Some(request_id.to_owned()),
    );
    response.headers_mut().insert(REQUEST_ID, id.0.clone());
    response
}

fn record(response: &ServiceResponse, id: &RequestId, started: Instant) {
    let took = started.elapsed();
    let request = response.request();
    let status = response.status().as_u16();
    let route = request
        .extensions()
        .get::<RoutePattern>()
        .map_or("none", |route| route.0);
    let method = request.method().as_str();
    record_request(route, method, status, took);
    let request_id = id.0.to_str().unwrap_or_default();
    let milliseconds = took.as_secs_f64() * 1_000.0;
    match response.response().extensions().get::<FailureCause>() {
        Some(FailureCause(cause)) => {
            tracing::error!(
                target: LOG_TARGET,
                request_id,
                trace_id = trace_id(request),
                method,
                route,
                status,
                milliseconds,
                cause = cause.as_deref(),
                "request failed with a server error"
            );
        }
        None => {
            tracing::debug!(
                target: LOG_TARGET,
                request_id,
                trace_id = trace_id(request),
                method,
                route,
                status,
                milliseconds,
                "request completed"
            );
        }
    }
}

/// Returns the caller's trace id (W3C Trace Context), which connects its log with this one.
fn trace_id(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get("traceparent")?.to_str().ok()?;
    let mut parts = value.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str, length| {
        text.len() == length
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_whole = is_hex(version, 2)
        && version != "ff"
        && is_hex(trace, 32)
        && trace.bytes().any(|byte| byte != b'0')
        && is_hex(parts.next()?, 16);
    is_whole.then_some(trace)
}
