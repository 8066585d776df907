//! Headers that keep a browser from doing more with an answer than it should.

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};

use crate::{oauth, request::routed_path, state::ApiState};

/// No answer is guessed to be of another type.
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// Answers are not kept unless they say so.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
/// Data, shown as a page, runs nothing, loads nothing and stands in no frame. Pages say what they
/// need instead.
const DATA_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// Addresses in here carry ids: they are nobody else's business.
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
/// Where the service is reached over TLS, it is to be reached over TLS alone.
const TLS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Makes every answer safe by its headers.
pub async fn secure(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let mut response = next.call(request).await?.map_into_boxed_body();
    let request = response.request();
    let state = request.app_data::<Data<ApiState>>();
    let is_https = state.is_some_and(|state| is_reached_over_tls(state));
    let is_oauth = oauth::is_endpoint(routed_path(request));
    harden(response.headers_mut(), is_https, is_oauth);
    Ok(response)
}

/// Whether clients reach the service over TLS.
pub(super) fn is_reached_over_tls(state: &ApiState) -> bool {
    state.public_url.starts_with("https:")
}

/// Puts in what is not there.
pub(super) fn harden(headers: &mut HeaderMap, is_https: bool, is_oauth: bool) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(header::REFERRER_POLICY, NO_REFERRER);
    if is_https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    if is_oauth {
        // RFC 6749 asks for it beside the newer header.
        headers.insert(header::PRAGMA, NO_CACHE);
    }
    default(headers, header::CACHE_CONTROL, NO_STORE);
    default(headers, header::CONTENT_SECURITY_POLICY, DATA_POLICY);
}

fn default(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    if !headers.contains_key(&name) {
        headers.insert(name, value);
    }
}
