//! What every answer has in common, whoever wrote it; its headers stand in [`super::security`].

use actix_web::{
    Error,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method, Version,
        header::{self, HeaderMap},
    },
    middleware::Next,
    web::Data,
};
use domain::ProblemCode;

use super::{refuse, unread};
use crate::{
    problem::{ApiError, PROBLEM_JSON, fill_in},
    request::accepts,
    state::ApiState,
};

/// Makes HEAD what GET is, and every refusal a problem.
pub async fn normalise(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    if request.method() == Method::HEAD {
        // The encoder remembers that it was HEAD and leaves the body out.
        request.head_mut().method = Method::GET;
    }
    let response = match refusal(&request) {
        Some(error) => refuse(request, error),
        None => next.call(request).await?.map_into_boxed_body(),
    };
    Ok(unread::hold(fill_in(response)))
}

fn refusal(request: &ServiceRequest) -> Option<ApiError> {
    let state = request.app_data::<Data<ApiState>>()?;
    let target = request
        .uri()
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    if target > state.sizes.url_bytes as usize {
        return Some(ApiError::new(ProblemCode::UriTooLong));
    }
    if request.version() == Version::HTTP_11 && !names_its_host(request.headers()) {
        return Some(ApiError::header(
            "Host",
            "an HTTP/1.1 request names its host once",
        ));
    }
    let is_api = request.path().starts_with("/api/");
    let takes = |media_type| accepts(request.headers(), media_type);
    if is_api && !takes("application/json") && !takes(PROBLEM_JSON) {
        return Some(ApiError::new(ProblemCode::NotAcceptable));
    }
    None
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
