//! Checks of the head of every request.

use actix_web::{
    dev::ServiceRequest,
    http::{
        Uri, Version,
        header::{self, HeaderMap},
    },
};
use domain::ProblemCode;

use crate::{
    operations,
    problem::{ApiError, PROBLEM_JSON},
    request::{accepts, routed_path},
    state::HttpState,
};

/// The maximum size of a `cursor` parameter that does not count towards the size of a target: a
/// cursor contains at most a name of 512 characters and an id, in base64.
const MAX_CURSOR_BYTES: usize = 4_096;

/// Rejects a request whose target is too long, whose `Host` is invalid, or whose `Accept` excludes
/// all media types of the API.
pub(super) fn check_head(request: &ServiceRequest, state: &HttpState) -> Result<(), ApiError> {
    if counted_target_bytes(request.uri()) > state.bodies.sizes.url_bytes as usize {
        return Err(ApiError::new(ProblemCode::UriTooLong));
    }
    if request.version() == Version::HTTP_11 && !has_one_valid_host(request.headers()) {
        return Err(ApiError::header(
            "Host",
            "an HTTP/1.1 request names its host once",
        ));
    }
    let path = routed_path(request.request());
    let is_accepted = |media_type| accepts(request.headers(), media_type);
    let stream_type = state.operations.stream_type(path);
    if operations::is_api(path)
        && !is_accepted("application/json")
        && !is_accepted(PROBLEM_JSON)
        && !stream_type.is_some_and(is_accepted)
    {
        return Err(ApiError::new(ProblemCode::NotAcceptable));
    }
    Ok(())
}

/// Returns the size of the target without its cursor. A link to the next page, derived from an
/// accepted request, is therefore never too long.
fn counted_target_bytes(uri: &Uri) -> usize {
    let target = uri
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    let cursor = uri.query().into_iter().flat_map(|query| query.split('&'));
    let cursor = cursor
        .filter(|pair| pair.starts_with("cursor="))
        .map(str::len);
    target - cursor.max().unwrap_or(0).min(MAX_CURSOR_BYTES)
}

/// Returns true if there is exactly one `Host` with valid characters. Otherwise a proxy and this
/// service could interpret the request differently (RFC 9112, section 3.2).
fn has_one_valid_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST);
    let is_valid = |host: &[u8]| {
        host.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]%".contains(byte))
    };
    hosts.next().is_some_and(|host| is_valid(host.as_bytes())) && hosts.next().is_none()
}
