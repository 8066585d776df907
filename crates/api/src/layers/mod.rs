//! What every request passes on its way to a handler, from the outside in: [`observe`] (request
//! id, log, metrics), [`secure`] (safe headers), [`share`] (CORS), [`normalise`] (problems, HEAD),
//! the guard of addresses, authentication, rate limits and the origins of keys (in
//! [`crate::access`]), [`receive`] (head and body), and around each handler a catcher of panics
//! ([`resource`]).

mod body;
mod cors;
mod head;
mod normalise;
mod observe;
mod panics;
mod security;
mod unread;

use actix_web::{
    HttpMessage as _, HttpResponse,
    dev::{ServiceRequest, ServiceResponse},
};

use crate::problem::ApiError;

pub use body::receive;
pub use cors::{AllowedOrigins, share};
pub use normalise::{WasHead, normalise};
pub use observe::{RequestId, observe};
pub use panics::{RoutePattern, resource};
pub use security::secure;

/// Answers a request with an error instead of handing it on.
pub fn refuse(request: ServiceRequest, error: ApiError) -> ServiceResponse {
    // `ServiceRequest::into_response` would forget the error, and with it what the normaliser
    // writes into its body.
    let (request, payload) = request.into_parts();
    request.extensions_mut().insert(unread::Unread(payload));
    ServiceResponse::new(request, HttpResponse::from_error(error))
}
