//! Properties that all responses share, except for the headers in [`super::security_headers`].

use std::convert::Infallible;

use actix_web::{
    Error, HttpMessage as _,
    body::{BodySize, BodyStream, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        ConnectionType, Method, Version,
        header::{HeaderValue, LINK, LOCATION, WWW_AUTHENTICATE},
    },
    middleware::Next,
    web::{Bytes, Data},
};
use domain::ProblemCode;
use futures::stream::{self, Empty};

use super::unread_body;
use crate::{
    auth::is_forwarded,
    problem::{ApiError, into_problem},
    state::{HttpState, Site},
};

/// Marks a request whose method was HEAD, for handlers that do not treat it as GET.
pub(crate) struct HeadRequest;

/// Handles HEAD like GET, and converts every error into a problem.
pub async fn problem_responses(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let Some(state) = request.app_data::<Data<HttpState>>().cloned() else {
        return Err(ApiError::new(ProblemCode::Internal).into());
    };
    let is_head = request.method() == Method::HEAD;
    if is_head {
        // The encoder remembers that the method was HEAD and omits the body.
        request.head_mut().method = Method::GET;
        request.extensions_mut().insert(HeadRequest);
    }
    let response = next.call(request).await?.map_into_boxed_body();
    let mut response = into_problem(response, &state.operations);
    // A far region adds its own URL to the responses that it returns.
    if !is_forwarded(response.request()) {
        add_base_path(&mut response, &state.site);
        add_resource_metadata(&mut response, &state.site);
    }
    if response.request().version() == Version::HTTP_10
        && response.response().body().size() == BodySize::Stream
    {
        // HTTP/1.0 has no chunked encoding: a stream ends with the connection, also if the client
        // asked to keep it.
        let head = response.response_mut().head_mut();
        head.no_chunking(true);
        head.set_connection_type(ConnectionType::Close);
    }
    if is_head && response.response().body().size() == BodySize::Stream {
        // The encoder would wait for the end of the stream that it omits.
        response = response.map_body(|_, _| BoxBody::new(BodyStream::new(empty_stream())));
    }
    Ok(unread_body::hold_unread_body(response))
}

/// Adds the path of the public URL to the paths in `Location` and `Link`.
fn add_base_path(response: &mut ServiceResponse, site: &Site) {
    if site.base_path.is_empty() {
        return;
    }
    for (name, start) in [(LOCATION, "/"), (LINK, "</")] {
        let path = response.headers().get(&name);
        let path = path.and_then(|value| value.to_str().ok()?.strip_prefix(start));
        let prefixed = path.map(|path| {
            let open = start.trim_end_matches('/');
            HeaderValue::try_from(format!("{open}{}/{path}", site.base_path))
        });
        if let Some(Ok(prefixed)) = prefixed {
            response.headers_mut().insert(name, prefixed);
        }
    }
}

/// A stream that ends at once.
fn empty_stream() -> Empty<Result<Bytes, Infallible>> {
    stream::empty()
}

/// Adds the address of the protected resource's metadata to every challenge (RFC 9728).
fn add_resource_metadata(response: &mut ServiceResponse, site: &Site) {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let Some(rest) = challenge
        .and_then(|value| value.to_str().ok())
        .and_then(|challenge| challenge.strip_prefix("Bearer "))
    else {
        return;
    };
    let challenge = format!("Bearer {}, {rest}", site.resource_metadata);
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}
