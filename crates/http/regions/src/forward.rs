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
use bytes::Bytes;
use domain::{ProblemCode, Seq, Ticket};
use futures::StreamExt as _;
use kit::{
    auth::check_socket_origin,
    layers::RequestId,
    operations::Operation,
    problem::ApiError,
    region::{HOME, X_CONSISTENCY, X_SERVED_BY},
    sse::{EVENT_STREAM, X_ACCEL_BUFFERING},
    state::HttpState,
};
use ports::{HomeError, HomeRequest, HomeResponse, StreamSlot};

use super::{
    FarNode, forwarded_headers,
    forwarded_stream::open_stream,
    positioned_body::{X_REGION_FRAMES, decode},
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Forwards a request with its whole body.
pub(super) async fn forward(
    state: &HttpState,
    far: &Arc<FarNode>,
    operation: &Operation,
    request: &HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, ApiError> {
    let caller = request.extensions().get::<Arc<AuthContext>>().cloned();
    let origin = bound_origin(state, operation, request)?;
    let slot = match &caller {
        Some(caller) => {
            open_stream(&state.rates.principals, caller, operation, request, &body).await?
        }
        None => None,
    };
    let forwarded = HomeRequest {
        method: request.method().as_str().to_owned(),
        path: path_and_query(request),
        headers: forwarded_headers::for_home(
            request.headers(),
            RequestId::of(request),
            caller.is_some(),
        ),
        body,
        caller: caller.as_ref().map(|caller| Ticket {
            origin,
            ..caller.to_ticket()
        }),
        client_address: client_address(far, request),
        is_repeatable: is_repeatable(operation, request),
    };
    let is_read = request.method() == Method::GET;
    let response = far.home.send(forwarded).await;
    let response = response.map_err(if is_read { problem_of_read } else { problem })?;
    let position = header(&response, X_CONSISTENCY.as_str());
    let position = position.and_then(|value| parse_position(value));
    if let (Some(caller), Some(position)) = (&caller, position) {
        far.record_write(caller, position);
    }
    let response = match caller {
        Some(caller) => record_positions(far, caller, response),
        None => response,
    };
    Ok(respond(response, slot))
}

/// Returns the origin of the page to which the response is bound. Only this region knows the
/// origins that may open sockets here.
fn bound_origin(
    state: &HttpState,
    operation: &Operation,
    request: &HttpRequest,
) -> Result<Option<String>, ApiError> {
    if operation.id != "create_ticket" {
        return Ok(None);
    }
    let page = check_socket_origin(
        request.headers(),
        &state.site.allowed_origins,
        &state.site.public_url,
    )?;
    Ok(page.map(ToOwned::to_owned))
}

/// Records the positions that a streamed body contains, as it is read.
fn record_positions(
    far: &Arc<FarNode>,
    caller: Arc<AuthContext>,
    mut response: HomeResponse,
) -> HomeResponse {
    if header(&response, X_REGION_FRAMES.as_str()).is_some() {
        let far = Arc::clone(far);
        let record = move |position| far.record_write(&caller, position);
        response.body = decode(response.body, record);
    }
    response
}

/// Returns the path and the query as they were sent; both are signed.
pub(super) fn path_and_query(request: &HttpRequest) -> String {
    let uri = request.uri().path_and_query();
    uri.map_or("/", |it| it.as_str()).to_owned()
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

/// Converts an error of the home region.
pub(super) fn problem(error: HomeError) -> ApiError {
    let code = match &error {
        HomeError::Unreachable(_) => ProblemCode::HomeUnavailable,
        HomeError::Lost(_) => ProblemCode::StoreUnavailable,
    };
    ApiError::new(code).with_source(error)
}

/// Converts an error of the home region about a request that changes nothing.
pub(super) fn problem_of_read(error: HomeError) -> ApiError {
    ApiError::new(ProblemCode::HomeUnavailable).with_source(error)
}

pub(super) fn header<'a>(response: &'a HomeResponse, name: &str) -> Option<&'a Bytes> {
    let mut headers = response.headers.iter();
    headers
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
}

/// Returns the response for the client. `slot` is its open stream.
fn respond(response: HomeResponse, slot: Option<StreamSlot>) -> HttpResponse {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let length = header(&response, CONTENT_LENGTH.as_str());
    let length = length.and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    let mut builder = HttpResponse::build(status);
    for (name, value) in &response.headers {
        if let Some(header) = forwarded_headers::for_client(name, value) {
            builder.append_header(header);
        }
    }
    builder.insert_header((X_SERVED_BY, HOME));
    let content_type = header(&response, CONTENT_TYPE.as_str());
    if content_type.is_some_and(|it| it.starts_with(EVENT_STREAM.as_bytes())) {
        // A proxy in front of the home region applies this header, and removes it.
        builder.insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")));
    }
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return builder.finish();
    }
    let chunks = response.body.map(move |chunk| {
        // Held until the body ends or is dropped.
        let _open = &slot;
        chunk
    });
    let body = match length {
        Some(length) => BoxBody::new(SizedStream::new(length, chunks)),
        None => BoxBody::new(BodyStream::new(chunks)),
    };
    builder.body(body)
}
