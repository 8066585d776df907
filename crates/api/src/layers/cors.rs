//! CORS, as the Fetch standard defines it.
//!
//! Implemented here because the usual library responds to preflights with a foreign origin, and
//! without one, with a text of its own. Here a foreign origin only gets no headers.

use std::collections::HashSet;

use actix_web::{
    Error, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method,
        header::{self, HeaderMap, HeaderValue},
    },
    middleware::Next,
    web::Data,
};

use domain::web_address;
use tracing::Level;

use crate::{auth::named_origin, operations::is_well_known, request::routed_path, state::ApiState};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// All request headers that this service uses.
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, \
     Last-Event-ID, Prefer, traceparent, tracestate, User-Agent, X-API-Key, \
     X-Consistency, X-Request-Id, \
     X-Run-Id, X-Stainless-Arch, X-Stainless-Helper-Method, X-Stainless-Lang, X-Stainless-OS, \
     X-Stainless-Package-Version, X-Stainless-Poll-Helper, X-Stainless-Retry-Count, \
     X-Stainless-Runtime, X-Stainless-Runtime-Version, X-Stainless-Timeout, X-User-Id",
);
/// All response headers that pages may read.
const RESPONSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "Allow, Deprecation, ETag, Idempotency-Replayed, Link, Location, Preference-Applied, \
     RateLimit, RateLimit-Policy, Retry-After, Server-Timing, Sunset, WWW-Authenticate, \
     X-Consistency, X-Event-Seq, X-Request-Id, X-Served-By, X-Should-Retry, X-Vercel-AI-UI-Message-Stream",
);
/// The time in seconds for which browsers keep the result of a preflight; no browser keeps it
/// longer than two hours.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// The origins whose pages may read responses.
#[derive(Debug, Default)]
pub struct AllowedOrigins(HashSet<Vec<u8>>);

impl AllowedOrigins {
    /// Allows exactly these origins.
    pub fn new(origins: &[String]) -> Self {
        Self(
            origins
                .iter()
                .map(|origin| origin.clone().into_bytes())
                .collect(),
        )
    }

    /// Returns true if pages of this origin may read responses.
    pub fn contains(&self, origin: impl AsRef<[u8]>) -> bool {
        self.0.contains(origin.as_ref())
    }
}

/// The value of `Access-Control-Allow-Origin` in a response, if any.
pub(super) struct CorsHeaders(Option<HeaderValue>);

impl CorsHeaders {
    /// Returns the headers for the page that sends this request.
    pub(super) fn of(request: &ServiceRequest, origins: &AllowedOrigins) -> Self {
        let Ok(Some(origin)) = named_origin(request.headers()) else {
            return Self(None);
        };
        // Metadata about authentication is public.
        if is_well_known(routed_path(request.request())) {
            return Self(Some(ANY));
        }
        Self(origins.contains(origin).then(|| origin.clone()))
    }

    /// Adds the headers to a response.
    pub(super) fn write_to(self, headers: &mut HeaderMap) {
        if let Some(origin) = self.0 {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
        }
        vary(headers);
    }

    /// Adds the headers to the response to a preflight.
    fn write_to_preflight(self, headers: &mut HeaderMap) {
        if let Some(origin) = self.0 {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
        vary(headers);
    }
}

/// Responds to preflights, and lets pages of allowed origins read responses, including errors.
pub async fn cors(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let cors_headers = match request.app_data::<Data<ApiState>>() {
        Some(state) => {
            let cors_headers = CorsHeaders::of(&request, &state.allowed_origins);
            if cors_headers.0.is_none() {
                log_disallowed_origin(&request, &state.public_url);
            }
            cors_headers
        }
        None => CorsHeaders(None),
    };
    if is_preflight(&request) {
        let mut response = HttpResponse::NoContent().finish();
        cors_headers.write_to_preflight(response.headers_mut());
        return Ok(request.into_response(response));
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    cors_headers.write_to(response.headers_mut());
    Ok(response)
}

/// Logs the origin of a page that may not read the response. The service's own pages need no
/// permission.
fn log_disallowed_origin(request: &ServiceRequest, public_url: &str) {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return;
    };
    let own = || web_address::origin_of(public_url);
    if tracing::enabled!(Level::DEBUG) && own().is_none_or(|own| origin != own.as_str()) {
        tracing::debug!(
            ?origin,
            method = %request.method(),
            path = routed_path(request.request()),
            "cross-origin request has no CORS headers in its response: the origin is not in \
             SERVER__ALLOWED_ORIGINS"
        );
    }
}

fn is_preflight(request: &ServiceRequest) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Prevents caches from returning the response for one origin to another.
fn vary(headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
