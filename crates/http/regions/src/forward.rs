//! Forwards a request to the home region, and returns its response as it arrives.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    body::{BodyStream, BoxBody, SizedStream},
    http::{
        Method, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue},
    },
};
use domain::{CallerClaims, ProblemCode, Seq};
use futures::StreamExt as _;
use http::Response;
use kit::{
    auth::{check_socket_origin, open_stream},
    layers::RequestId,
    operations::Operation,
    problem::ApiError,
    region::{HOME, X_SERVED_BY},
    request::IDEMPOTENCY_KEY,
    sse::{EVENT_STREAM, X_ACCEL_BUFFERING},
    state::HttpState,
};
use ports::{Forwarding, HomeBody, HomeError, SentBody, StreamSlot};

use super::{
    FarNode, forwarded_headers,
    forwarded_stream::opens_stream,
    positioned_body::{X_REGION_FRAMES, decode},
};

/// Forwards a request.
pub(super) async fn forward(
    state: &HttpState,
    far: &Arc<FarNode>,
    operation: &Operation,
    request: &HttpRequest,
    body: SentBody,
) -> Result<HttpResponse, ApiError> {
    let caller = request.extensions().get::<Arc<AuthContext>>().cloned();
    let origin = bound_origin(state, operation, request)?;
    let slot = match &caller {
        Some(caller) if opens_stream(operation, request.headers(), whole(&body)) => {
            open_stream(&state.rates.principals, caller).await?
        }
        _ => None,
    };
    let forwarding = Forwarding {
        caller: caller.as_ref().map(|caller| CallerClaims {
            origin,
            ..caller.to_claims()
        }),
        client_address: client_address(far, request),
        is_repeatable: is_repeatable(operation, request),
    };
    let sent = far
        .home
        .send(for_home(request, body, caller.is_some())?, Some(forwarding));
    let is_read = request.method() == Method::GET;
    let response = sent.await.map_err(|error| {
        if is_read {
            problem_of_read(error)
        } else {
            error.into()
        }
    })?;
    let response = match caller {
        Some(caller) => record_positions(far, caller, response),
        None => response,
    };
    Ok(respond(response, slot))
}

/// Returns a body that is in memory. One that is streamed is a file.
fn whole(body: &SentBody) -> &[u8] {
    match body {
        SentBody::Whole(bytes) => bytes,
        SentBody::Streamed(_) => &[],
    }
}

/// Converts a request of a client.
fn for_home(
    request: &HttpRequest,
    body: SentBody,
    is_authenticated: bool,
) -> Result<http::Request<SentBody>, HomeError> {
    // As they were sent: both are signed.
    let path = request.uri().path_and_query();
    let converted = http::Request::builder()
        .method(request.method().as_str())
        .uri(path.map_or("/", |it| it.as_str()));
    let mut converted = converted.body(body)?;
    let request_id = RequestId::of(request);
    *converted.headers_mut() =
        forwarded_headers::for_home(request.headers(), request_id.as_deref(), is_authenticated);
    Ok(converted)
}

/// Returns the origin of the page to which the response is bound. Only this region knows the
/// origins that may open sockets here.
fn bound_origin(
    state: &HttpState,
    operation: &Operation,
    request: &HttpRequest,
) -> Result<Option<String>, ApiError> {
    if !operation.binds_origin {
        return Ok(None);
    }
    let page = check_socket_origin(
        request.headers(),
        &state.site.allowed_origins,
        &state.site.public_url,
    )?;
    Ok(page.map(ToOwned::to_owned))
}

/// Records the position of a response, and those that its streamed body contains, as it is read.
fn record_positions(
    far: &Arc<FarNode>,
    caller: Arc<AuthContext>,
    response: Response<HomeBody>,
) -> Response<HomeBody> {
    far.record_position(&caller, &response);
    if !response.headers().contains_key(X_REGION_FRAMES) {
        return response;
    }
    let far = Arc::clone(far);
    response.map(|body| decode(body, move |position| far.record_write(&caller, position)))
}

/// Parses a position of a log.
pub(super) fn parse_position(value: &[u8]) -> Option<Seq> {
    let position: i64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    (position >= 0).then_some(Seq(position))
}

fn client_address(far: &FarNode, request: &HttpRequest) -> Option<std::net::IpAddr> {
    let peer = request.peer_addr()?.ip();
    Some(far.proxies.client_address(peer, request.headers()))
}

/// Returns true if the home region recognises a second copy of the request.
fn is_repeatable(operation: &Operation, request: &HttpRequest) -> bool {
    let has_key = request.headers().contains_key(IDEMPOTENCY_KEY);
    request.method() == Method::GET || operation.idempotent && has_key
}

/// Converts an error of the home region about a request that changes nothing.
pub(super) fn problem_of_read(error: HomeError) -> ApiError {
    ApiError::new(ProblemCode::HomeUnavailable).with_source(error)
}

/// Converts a response for the client. `slot` is its open stream.
fn respond(response: Response<HomeBody>, slot: Option<StreamSlot>) -> HttpResponse {
    let (head, body) = response.into_parts();
    let header = |name: HeaderName| head.headers.get(name.as_str())?.to_str().ok();
    let status = StatusCode::from_u16(head.status.as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut builder = HttpResponse::build(status);
    for header in forwarded_headers::for_client(&head.headers) {
        builder.append_header(header);
    }
    builder.insert_header((X_SERVED_BY, HOME));
    if header(CONTENT_TYPE).is_some_and(|it| it.starts_with(EVENT_STREAM)) {
        // A proxy in front of the home region applies this header, and removes it.
        builder.insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")));
    }
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return builder.finish();
    }
    let chunks = body.map(move |chunk| {
        // Held until the body ends or is dropped.
        let _open = &slot;
        chunk
    });
    let length = header(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    let body = match length {
        Some(length) => BoxBody::new(SizedStream::new(length, chunks)),
        None => BoxBody::new(BodyStream::new(chunks)),
    };
    builder.body(body)
}
