//! Response headers that restrict what browsers do with a response.

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};

use crate::{operations, request::routed_path, state::HttpState};

/// Browsers must not guess another content type.
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Responses are not cached unless their headers allow it.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
/// A response that is shown as a page runs no scripts, loads nothing and is not framed. Pages set
/// their own policy.
const DATA_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// URLs contain ids, which other sites must not see.
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
/// If clients reach the service over TLS, they must always use TLS.
const TLS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Adds security headers to every response.
pub async fn security_headers(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let mut response = next.call(request).await?.map_into_boxed_body();
    let request = response.request();
    let state = request.app_data::<Data<HttpState>>();
    let is_https = state.is_some_and(|state| is_reached_over_tls(state));
    let is_oauth = operations::is_oauth(routed_path(request));
    set_security_headers(response.headers_mut(), is_https, is_oauth);
    Ok(response)
}

/// Returns true if clients reach the service over TLS.
pub(super) fn is_reached_over_tls(state: &HttpState) -> bool {
    state.site.public_url.starts_with("https:")
}

/// Sets the headers; keeps a cache control and a content policy that are already set.
pub(super) fn set_security_headers(headers: &mut HeaderMap, is_https: bool, is_oauth: bool) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(header::REFERRER_POLICY, NO_REFERRER);
    if is_https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    if is_oauth {
        // RFC 6749 requires it in addition to `Cache-Control`.
        headers.insert(header::PRAGMA, NO_CACHE);
    }
    set_default(headers, header::CACHE_CONTROL, NO_STORE);
    set_default(headers, header::CONTENT_SECURITY_POLICY, DATA_POLICY);
}

fn set_default(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    if !headers.contains_key(&name) {
        headers.insert(name, value);
    }
}
