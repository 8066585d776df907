//! CORS, as the Fetch standard defines it.
//!
//! Implemented here because the usual library responds to preflights with a foreign origin, and
//! without one, with a text of its own. Here a foreign origin only gets no headers.

use std::{collections::HashSet, iter};

use actix_web::{
    Error, HttpResponse,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    middleware::Next,
    web::Data,
};

use domain::{allowed_origin, web_address};
use parking_lot::Mutex;

use crate::{
    auth::named_origin, operations::is_well_known, request::routed_path, state::HttpState,
};

const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
/// All request headers that this service uses, and those that monitoring scripts and tunnels add to
/// every request of a page. A browser sends no request that has another.
const REQUEST_HEADERS: &str = "Accept, Authorization, Content-Disposition, Content-Type, \
     Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, User-Agent, X-API-Key, \
     X-Consistency, X-Request-Id, \
     X-Run-Id, X-Stainless-Arch, X-Stainless-Helper-Method, X-Stainless-Lang, X-Stainless-OS, \
     X-Stainless-Package-Version, X-Stainless-Poll-Helper, X-Stainless-Retry-Count, \
     X-Stainless-Runtime, X-Stainless-Runtime-Version, X-Stainless-Timeout, X-User-Id, \
     traceparent, tracestate, baggage, sentry-trace, newrelic, b3, X-B3-TraceId, X-B3-SpanId, \
     X-B3-ParentSpanId, X-B3-Sampled, X-B3-Flags, X-Datadog-Origin, X-Datadog-Parent-Id, \
     X-Datadog-Sampled, X-Datadog-Sampling-Priority, X-Datadog-Tags, X-Datadog-Trace-Id, \
     elastic-apm-traceparent, X-Amzn-Trace-Id, Request-Id, Request-Context, X-Requested-With, \
     ngrok-skip-browser-warning";
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
/// The number of disallowed origins of which the log warns. Anybody can send any origin.
const REPORTED_ORIGINS: usize = 100;

/// The origins whose pages may read responses, and the headers that they may send.
#[derive(Debug)]
pub struct AllowedOrigins {
    entries: Vec<String>,
    request_headers: HeaderValue,
    /// The disallowed origins of which the log has warned.
    reported: Mutex<HashSet<Vec<u8>>>,
}

impl AllowedOrigins {
    /// Allows these origins, and these request headers besides the usual ones. `headers` are names
    /// of headers.
    pub fn new(entries: &[String], headers: &[HeaderName]) -> Self {
        let names = headers.iter().map(HeaderName::as_str);
        let names: Vec<_> = iter::once(REQUEST_HEADERS).chain(names).collect();
        // Names of headers are always valid in a value.
        let request_headers = HeaderValue::try_from(names.join(", "));
        Self {
            entries: entries.to_vec(),
            request_headers: request_headers.unwrap_or(HeaderValue::from_static(REQUEST_HEADERS)),
            reported: Mutex::default(),
        }
    }

    /// Returns true if pages of this origin may read responses.
    pub fn contains(&self, origin: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| allowed_origin::allows(entry, origin))
    }

    /// Returns true if the log is to warn of a disallowed origin: once, and not of too many.
    fn is_first_report(&self, origin: &HeaderValue) -> bool {
        let mut reported = self.reported.lock();
        reported.len() < REPORTED_ORIGINS && reported.insert(origin.as_bytes().to_vec())
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
        let is_allowed = origin.to_str().is_ok_and(|it| origins.contains(it));
        Self(is_allowed.then(|| origin.clone()))
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
    fn write_to_preflight(self, headers: &mut HeaderMap, request_headers: HeaderValue) {
        if let Some(origin) = self.0 {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, request_headers);
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
    let Some(state) = request.app_data::<Data<HttpState>>() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let cors_headers = CorsHeaders::of(&request, &state.site.allowed_origins);
    if cors_headers.0.is_none() {
        report_disallowed_origin(&request, state);
    }
    if is_preflight(&request) {
        let request_headers = state.site.allowed_origins.request_headers.clone();
        let mut response = HttpResponse::NoContent().finish();
        cors_headers.write_to_preflight(response.headers_mut(), request_headers);
        return Ok(request.into_response(response));
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    cors_headers.write_to(response.headers_mut());
    Ok(response)
}

/// Warns of the first request of a page that may not read responses: in its browser, this looks as
/// if the service could not be reached.
fn report_disallowed_origin(request: &ServiceRequest, state: &HttpState) {
    let Ok(Some(origin)) = named_origin(request.headers()) else {
        return;
    };
    if !is_own_page(request, origin, &state.site.public_url)
        && state.site.allowed_origins.is_first_report(origin)
    {
        tracing::warn!(
            ?origin,
            method = %request.method(),
            path = routed_path(request.request()),
            "pages of this origin cannot read responses: to allow them, add the origin to \
             SERVER__ALLOWED_ORIGINS"
        );
    }
}

/// Returns true for the service's own pages, which need no permission.
fn is_own_page(request: &ServiceRequest, origin: &HeaderValue, public_url: &str) -> bool {
    let host = request.headers().get(header::HOST);
    let authority = origin.to_str().unwrap_or_default().split_once("://");
    let is_same_host = authority.is_some_and(|(_, it)| host.is_some_and(|host| host == it));
    is_same_host || web_address::origin_of(public_url).is_some_and(|own| origin == own.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_warns_once_of_each_origin_up_to_a_limit() {
        let origins = AllowedOrigins::new(&[], &[]);
        let mut reports = (0..REPORTED_ORIGINS + 10).map(|number| {
            let origin = format!("https://page{number}.example");
            let origin = HeaderValue::try_from(origin).unwrap();
            [
                origins.is_first_report(&origin),
                origins.is_first_report(&origin),
            ]
        });
        assert!(
            reports
                .by_ref()
                .take(REPORTED_ORIGINS)
                .all(|it| it == [true, false])
        );
        assert!(reports.all(|it| it == [false, false]));
        assert_eq!(origins.reported.lock().len(), REPORTED_ORIGINS);
    }
}
