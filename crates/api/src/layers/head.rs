//! What a request's head must be, whatever it asks for.

use actix_web::{
    dev::ServiceRequest,
    http::{
        Uri, Version,
        header::{self, HeaderMap},
    },
};
use domain::{ProblemCode, Sizes};

use crate::{
    operations,
    problem::{ApiError, PROBLEM_JSON},
    request::{accepts, routed_path},
    sse::EVENT_STREAM,
};

/// The longest `cursor` parameter that does not count towards the size of a target: cursors hold at
/// most a name of 512 characters and an id, in base64.
const MOST_CURSOR_BYTES: usize = 4_096;

/// Refuses a request whose head nothing here can answer.
pub(super) fn check_head(request: &ServiceRequest, sizes: &Sizes) -> Result<(), ApiError> {
    if counted_target_bytes(request.uri()) > sizes.url_bytes as usize {
        return Err(ApiError::new(ProblemCode::UriTooLong));
    }
    if request.version() == Version::HTTP_11 && !names_its_host(request.headers()) {
        return Err(ApiError::header(
            "Host",
            "an HTTP/1.1 request names its host once",
        ));
    }
    let path = routed_path(request.request());
    let takes = |media_type| accepts(request.headers(), media_type);
    let takes_stream = operations::streams(path) && takes(EVENT_STREAM);
    if operations::is_api(path)
        && !takes("application/json")
        && !takes(PROBLEM_JSON)
        && !takes_stream
    {
        return Err(ApiError::new(ProblemCode::NotAcceptable));
    }
    Ok(())
}

/// The size of a request's target without its cursor: a link to the next page that this service
/// made out of an accepted request is never too long.
fn counted_target_bytes(uri: &Uri) -> usize {
    let target = uri
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    let cursor = uri.query().into_iter().flat_map(|query| query.split('&'));
    let cursor = cursor
        .filter(|pair| pair.starts_with("cursor="))
        .map(str::len);
    target - cursor.max().unwrap_or(0).min(MOST_CURSOR_BYTES)
}

/// Two hosts, or one that is none, make a proxy and this service see different requests
/// (RFC 9112, 3.2).
fn names_its_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST);
    let is_one = |host: &[u8]| {
        host.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]%".contains(byte))
    };
    hosts.next().is_some_and(|host| is_one(host.as_bytes())) && hosts.next().is_none()
}
