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
use futures::stream::{self, Empty};

use super::unread_body;
use crate::{auth::is_forwarded, problem::into_problem, state::ApiState};

/// Marks a request whose method was HEAD, for handlers that do not treat it as GET.
pub struct HeadRequest;

/// Handles HEAD like GET, and converts every error into a problem.
pub async fn problem_responses(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let is_head = request.method() == Method::HEAD;
    if is_head {
        // The encoder remembers that the method was HEAD and omits the body.
        request.head_mut().method = Method::GET;
        request.extensions_mut().insert(HeadRequest);
    }
    let response = next.call(request).await?.map_into_boxed_body();
    let mut response = into_problem(response);
    // A far region adds its own URL to the responses that it returns.
    if !is_forwarded(response.request()) {
        add_base_path(&mut response);
        add_resource_metadata(&mut response);
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
fn add_base_path(response: &mut ServiceResponse) {
    let state = response.request().app_data::<Data<ApiState>>().cloned();
    let Some(state) = state.filter(|state| !state.base_path.is_empty()) else {
        return;
    };
    for (name, start) in [(LOCATION, "/"), (LINK, "</")] {
        let path = response.headers().get(&name);
        let path = path.and_then(|value| value.to_str().ok()?.strip_prefix(start));
        let prefixed = path.map(|path| {
            let open = start.trim_end_matches('/');
            HeaderValue::try_from(format!("{open}{}/{path}", state.base_path))
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
fn add_resource_metadata(response: &mut ServiceResponse) {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let Some(rest) = challenge
        .and_then(|value| value.to_str().ok())
        .and_then(|challenge| challenge.strip_prefix("Bearer "))
    else {
        return;
    };
    let challenge = response
        .request()
        .app_data::<Data<ApiState>>()
        .map(|state| format!("Bearer {}, {rest}", state.oauth_metadata.announcement()))
        .and_then(|challenge| HeaderValue::try_from(challenge).ok());
    if let Some(challenge) = challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}
