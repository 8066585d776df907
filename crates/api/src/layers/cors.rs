//! Which pages of other origins may read answers (CORS, as the Fetch standard has it).
//!
//! Of our own, since the library for it answers a foreign preflight and one without an origin
//! with a text of its own, where here a foreign origin just gets no headers.

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

use crate::{access::named_origin, request::routed_path, state::ApiState};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// Every request header that means something here.
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, \
     Last-Event-ID, Prefer, traceparent, tracestate, X-API-Key, X-Request-Id",
);
/// Every header of an answer that a page may want to read.
const ANSWER_HEADERS: HeaderValue = HeaderValue::from_static(
    "Allow, Deprecation, ETag, Idempotency-Replayed, Link, Location, Preference-Applied, \
     RateLimit, RateLimit-Policy, Retry-After, Server-Timing, Sunset, WWW-Authenticate, \
     X-Event-Seq, X-Request-Id",
);
/// Seconds for which a browser need not ask again; more than two hours none keeps.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// The origins whose pages may read answers.
#[derive(Debug, Default)]
pub struct AllowedOrigins(HashSet<Vec<u8>>);

impl AllowedOrigins {
    /// Exactly these.
    pub fn new(origins: &[String]) -> Self {
        Self(
            origins
                .iter()
                .map(|origin| origin.clone().into_bytes())
                .collect(),
        )
    }

    /// Whether a page of this origin may read answers.
    pub fn contains(&self, origin: impl AsRef<[u8]>) -> bool {
        self.0.contains(origin.as_ref())
    }
}

/// Who may read the answer to a request: what `Access-Control-Allow-Origin` says, if anything.
pub(super) struct Sharing(Option<HeaderValue>);

impl Sharing {
    /// With the page that sends this request, if that may be.
    pub(super) fn of(request: &ServiceRequest, origins: &AllowedOrigins) -> Self {
        let Ok(Some(origin)) = named_origin(request.headers()) else {
            return Self(None);
        };
        // How to get in is for everybody to know.
        if routed_path(request.request()).starts_with("/.well-known/") {
            return Self(Some(ANY));
        }
        Self(origins.contains(origin).then(|| origin.clone()))
    }

    /// Says so in an answer.
    pub(super) fn tell(self, headers: &mut HeaderMap) {
        if let Some(origin) = self.0 {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, ANSWER_HEADERS);
        }
        vary(headers);
    }

    /// Says so in the answer to a preflight.
    fn tell_beforehand(self, headers: &mut HeaderMap) {
        if let Some(origin) = self.0 {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
        vary(headers);
    }
}

/// Answers preflights, and lets pages of allowed origins read what is answered, refusals
/// included.
pub async fn share(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let sharing = match request.app_data::<Data<ApiState>>() {
        Some(state) => {
            let sharing = Sharing::of(&request, &state.allowed_origins);
            if sharing.0.is_none() {
                log_foreign_origin(&request, &state.public_url);
            }
            sharing
        }
        None => Sharing(None),
    };
    if is_preflight(&request) {
        let mut answer = HttpResponse::NoContent().finish();
        sharing.tell_beforehand(answer.headers_mut());
        return Ok(request.into_response(answer));
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    sharing.tell(response.headers_mut());
    Ok(response)
}

/// Logs the origin of a page that may not read the answer. The service's own pages need no leave.
fn log_foreign_origin(request: &ServiceRequest, public_url: &str) {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return;
    };
    let own = || web_address::origin_of(public_url);
    if tracing::enabled!(Level::DEBUG) && own().is_none_or(|own| origin != own.as_str()) {
        tracing::debug!(
            ?origin,
            method = %request.method(),
            path = routed_path(request.request()),
            "cross-origin request without CORS headers: the origin is not in \
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

/// No cache may give one origin's answer to another.
fn vary(headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}
