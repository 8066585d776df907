//! Request id, one line in the log, and metrics for every request.

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

use super::{
    RoutePattern,
    cors::Sharing,
    security::{harden, is_reached_over_tls},
};
use crate::{
    connection::Progress,
    oauth,
    problem::{ApiError, FailureCause, respond},
    state::ApiState,
};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id by which one request is found again in the log.
#[derive(Debug, Clone)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The id of a request that passed [`observe`].
    pub fn of(request: &HttpRequest) -> Option<String> {
        let extensions = request.extensions();
        let id = extensions.get::<Self>()?;
        id.0.to_str().ok().map(ToOwned::to_owned)
    }

    fn choose(request: &ServiceRequest, state: &ApiState) -> Self {
        match request.headers().get(X_REQUEST_ID) {
            Some(given) if is_acceptable(given.as_bytes()) => Self(given.clone()),
            _ => {
                let mut buffer = uuid::Uuid::encode_buffer();
                let text = state.ids.next_id().hyphenated().encode_lower(&mut buffer);
                Self(HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown")))
            }
        }
    }
}

fn is_acceptable(given: &[u8]) -> bool {
    (1..=128).contains(&given.len())
        && given
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

/// Gives a request its id, and notes how it went. The outermost layer: what panics inside any
/// other becomes an answer here.
pub async fn observe(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let Some(state) = request.app_data::<Data<ApiState>>().cloned() else {
        return Err(ApiError::new(domain::ProblemCode::Internal).into());
    };
    let id = RequestId::choose(&request, &state);
    request.extensions_mut().insert(id.clone());
    let connection = Progress::of(request.request());
    connection.begin(!matches!(request.parts().1, Payload::None));
    let started = Instant::now();
    // What an answer needs when the request is gone.
    let uri = request.uri().clone();
    let sharing = Sharing::of(&request, &state.allowed_origins);
    let caught = std::panic::AssertUnwindSafe(next.call(request))
        .catch_unwind()
        .await;
    let outcome = caught.unwrap_or_else(|_panic| {
        Err(ApiError::new(domain::ProblemCode::Internal)
            .because("a layer panicked")
            .into())
    });
    let is_handed_over =
        |response: &ServiceResponse<_>| response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let is_handed_over = outcome.as_ref().is_ok_and(is_handed_over);
    let mut response = match outcome {
        Ok(response) if is_handed_over => {
            connection.hand_over();
            response.map_into_boxed_body()
        }
        Ok(response) => connection.end_with(response.map_into_boxed_body()),
        Err(error) => {
            connection.end();
            let asked = Url::new(uri);
            let mut answer = answer_without_request(&error, &asked, &id);
            let headers = answer.headers_mut();
            let is_oauth = oauth::is_endpoint(asked.path());
            harden(headers, is_reached_over_tls(&state), is_oauth);
            sharing.tell(headers);
            return Err(InternalError::from_response(error, answer).into());
        }
    };
    response.headers_mut().insert(X_REQUEST_ID, id.0.clone());
    if state.readiness.is_draining() && !is_handed_over {
        // The next request of this client finds another node, not a closed connection.
        let head = response.response_mut().head_mut();
        head.set_connection_type(ConnectionType::Close);
    }
    record(&response, &id, started);
    Ok(response)
}

/// The answer to a request that is gone with the layer that failed.
fn answer_without_request(error: &Error, asked: &Url, id: &RequestId) -> HttpResponse {
    let internal = ApiError::new(domain::ProblemCode::Internal);
    let error = error.as_error::<ApiError>().unwrap_or(&internal);
    let request_id = id.0.to_str().unwrap_or_default();
    let path = asked.uri().path();
    tracing::error!(request_id, path, code = %error, "a layer failed");
    let mut answer = respond(error, asked, Some(request_id.to_owned()));
    answer.headers_mut().insert(X_REQUEST_ID, id.0.clone());
    answer
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
    crate::telemetry::record_request(route, method, status, took);
    let request_id = id.0.to_str().unwrap_or_default();
    let milliseconds = took.as_secs_f64() * 1_000.0;
    match response.response().extensions().get::<FailureCause>() {
        Some(FailureCause(cause)) => {
            let trace_id = trace_id(request).unwrap_or_default();
            tracing::error!(
                request_id,
                trace_id,
                method,
                route,
                status,
                milliseconds,
                cause,
                "the request failed"
            );
        }
        None => {
            tracing::debug!(
                request_id,
                trace_id = trace_id(request).unwrap_or_default(),
                method,
                route,
                status,
                milliseconds,
                "answered"
            );
        }
    }
}

/// The trace that the caller is in (W3C Trace Context), so that its log and this one meet.
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
