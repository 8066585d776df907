//! What every answer has in common, whoever wrote it; its headers stand in [`super::security`].

use std::convert::Infallible;

use actix_web::{
    Error, HttpMessage as _,
    body::{BodySize, BodyStream, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method, Version,
        header::{HeaderValue, LINK, LOCATION, WWW_AUTHENTICATE},
    },
    middleware::Next,
    web::{Bytes, Data},
};
use futures::stream::{self, Empty};

use super::unread;
use crate::{problem::fill_in, state::ApiState};

/// Marks a request as one that was HEAD, for whoever does not answer that as GET.
pub struct WasHead;

/// Makes HEAD what GET is, and every refusal a problem.
pub async fn normalise(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let is_head = request.method() == Method::HEAD;
    if is_head {
        // The encoder remembers that it was HEAD and leaves the body out.
        request.head_mut().method = Method::GET;
        request.extensions_mut().insert(WasHead);
    }
    let response = next.call(request).await?.map_into_boxed_body();
    let mut response = fill_in(response);
    prefix_links(&mut response);
    if response.request().version() == Version::HTTP_10 {
        // HTTP/1.0 has no chunks: the end of the connection is that of the answer.
        response.response_mut().head_mut().no_chunking(true);
    }
    if is_head && response.response().body().size() == BodySize::Stream {
        // The encoder would wait for the end of what it leaves out.
        response = response.map_body(|_, _| BoxBody::new(BodyStream::new(nothing())));
    }
    announce_way_in(&mut response);
    Ok(unread::hold_unread(response))
}

/// Puts the path of the public URL in front of the paths in `Location` and `Link`.
fn prefix_links(response: &mut ServiceResponse) {
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
fn nothing() -> Empty<Result<Bytes, Infallible>> {
    stream::empty()
}

/// Says in every challenge where to read how to get in (RFC 9728).
fn announce_way_in(response: &mut ServiceResponse) {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    let Some(rest) = challenge
        .and_then(|value| value.to_str().ok())
        .and_then(|challenge| challenge.strip_prefix("Bearer "))
    else {
        return;
    };
    let told = response
        .request()
        .app_data::<Data<ApiState>>()
        .map(|state| format!("Bearer {}, {rest}", state.oauth_metadata.announcement()))
        .and_then(|told| HeaderValue::try_from(told).ok());
    if let Some(told) = told {
        response.headers_mut().insert(WWW_AUTHENTICATE, told);
    }
}
