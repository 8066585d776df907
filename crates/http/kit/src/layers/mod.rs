//! The middleware around all handlers, from the outside in: [`trace_request`] (request id, log,
//! metrics), [`security_headers`], [`cors`], [`problem_responses`] (problems, HEAD), the address
//! guard, authentication, rate limits and the origins of keys (in [`crate::auth`]), [`read_body`]
//! (head and body), and around each handler a layer that catches panics ([`resource_in`]).

mod catch_panics;
mod cors;
mod head;
mod long_body;
mod problem_responses;
mod read_body;
mod request_metrics;
mod security_headers;
mod trace_request;
mod unread_body;

pub(crate) use unread_body::UnreadBody;

use actix_web::{
    HttpMessage as _, HttpResponse,
    dev::{ServiceRequest, ServiceResponse},
};

use crate::problem::ApiError;

pub use catch_panics::{RoutePattern, resource_in};
pub use cors::{AllowedOrigins, cors};
pub(crate) use problem_responses::HeadRequest;
pub use problem_responses::problem_responses;
pub use read_body::{forget_body, read_body};
pub use request_metrics::record_request;
pub use security_headers::security_headers;
pub use trace_request::{RequestId, X_REQUEST_ID, trace_request};

/// Responds to a request with an error instead of calling the next service.
pub fn reject(request: ServiceRequest, error: ApiError) -> ServiceResponse {
    // `ServiceRequest::into_response` would drop the error, from which `problem_responses` writes
    // the body.
    let (request, payload) = request.into_parts();
    request.extensions_mut().insert(UnreadBody(payload));
    ServiceResponse::new(request, HttpResponse::from_error(error))
}
