//! Reads the whole body of a request, within its size and its time.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    Error, HttpMessage as _, HttpRequest,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::{Version, header},
    middleware::Next,
    web::{Bytes, BytesMut, Data},
};
use application::TakenMemory;
use domain::{ForwardedRequest, ProblemCode, region::TRAILER_BYTES};
use futures::StreamExt;
use server::ConnectionState;

use super::{head::check_head, long_body::LongBody, reject, unread_body::UnreadBody};
use crate::{
    auth::is_forwarded,
    body::MAX_BODY_WITH_FILES,
    operations::{self, Operation},
    problem::ApiError,
    request::{Pace, max_body_bytes as max_body_bytes_of_file, routed_path},
    state::HttpState,
};

/// The maximum size in bytes of a client's form: two tokens of 16 KiB and the parameters around
/// them.
const MAX_FORM_BYTES: usize = 64 * 1024;
/// The maximum size in bytes of the bodies that far nodes themselves send: one message with signals, or
/// the last uses of some credentials.
const MAX_REGION_BODY_BYTES: usize = 512 * 1024;

/// The steps in which the memory of a body with files grows, in bytes.
const MEMORY_STEP: usize = 256 * 1024;

/// Checks the head of a request and reads its body before the handler runs, so that a slow or
/// endless one costs a handler nothing. This layer is inside of the rate limits, so that requests
/// that are rejected here are counted too.
pub async fn read_body(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    match read_request(&mut request).await {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(error) => Ok(reject(request, error)),
    }
}

async fn read_request(request: &mut ServiceRequest) -> Result<(), ApiError> {
    let state = request
        .app_data::<Data<HttpState>>()
        .cloned()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    check_head(request, &state)?;
    if !has_body(request) {
        return Ok(());
    }
    if is_upgrade(request, &state) {
        // Frames follow the head of an upgrade.
        return Err(ApiError::header(
            "Upgrade",
            "an upgrade must not have a body",
        ));
    }
    let operation = operation_of_caller(request, &state);
    if operation.is_some_and(|operation| operation.takes_file) {
        check_declared(request, max_file_bytes(request, &state))?;
    } else if operation.is_some_and(|operation| operation.contains_files)
        && let Some(memory) = memory_of_caller(request, &state)
    {
        let body = read_with_files(request, &state, memory).await?;
        request.set_payload(Payload::from(body));
        ConnectionState::of(request.request()).body_received();
    } else if let Some(max) = max_body_bytes(request, &state) {
        let body = read_limited(request, &state, max).await?;
        request.set_payload(Payload::from(body));
        ConnectionState::of(request.request()).body_received();
    } else {
        let unread_body = UnreadBody(request.take_payload());
        request.extensions_mut().insert(unread_body);
    }
    Ok(())
}

/// Returns the maximum size of a body in bytes, or `None` if no handler is going to read it.
/// Unauthenticated callers get no memory for bodies, except at endpoints where clients authenticate
/// in the body.
fn max_body_bytes(request: &ServiceRequest, state: &HttpState) -> Option<usize> {
    let max = state.bodies.sizes.body_bytes as usize;
    let extensions = request.extensions();
    let is_forwarded = extensions.contains::<Arc<ForwardedRequest>>();
    if is_forwarded && operations::is_region_internal(routed_path(request.request())) {
        return Some(MAX_REGION_BODY_BYTES);
    }
    if let Some(auth) = extensions.get::<Arc<AuthContext>>() {
        let own = (!auth.principal.names_a_user()).then(|| own_body_bytes(request, state));
        return Some(own.flatten().map_or(max, |own| own.max(max)));
    }
    if is_forwarded {
        return Some(max);
    }
    operations::is_oauth(routed_path(request.request())).then_some(max.min(MAX_FORM_BYTES))
}

/// Returns the maximum size of the bodies of an operation that has one of its own.
fn own_body_bytes(request: &ServiceRequest, state: &HttpState) -> Option<usize> {
    let path = routed_path(request.request());
    let operation = state.operations.of_request(request.method().as_str(), path);
    operation?.body_bytes
}

/// Returns the operation of a caller that is known.
fn operation_of_caller(request: &ServiceRequest, state: &HttpState) -> Option<&'static Operation> {
    let path = routed_path(request.request());
    let operation = state.operations.of_request(request.method().as_str(), path);
    let is_known = request.extensions().contains::<Arc<AuthContext>>();
    operation.filter(|_| is_known)
}

/// Returns memory for the files of a caller that is known.
fn memory_of_caller(request: &ServiceRequest, state: &HttpState) -> Option<TakenMemory> {
    let extensions = request.extensions();
    let auth = extensions.get::<Arc<AuthContext>>()?;
    Some(state.bodies.memory.of(&auth.principal))
}

fn is_upgrade(request: &ServiceRequest, state: &HttpState) -> bool {
    state
        .operations
        .opens_socket(routed_path(request.request()))
        && request.headers().contains_key(header::UPGRADE)
}

/// Returns true if the request may have a body. HTTP/2 needs no header for one.
fn has_body(request: &ServiceRequest) -> bool {
    let headers = request.headers();
    match headers.get(header::CONTENT_LENGTH) {
        Some(length) if length == "0" => headers.contains_key(header::TRANSFER_ENCODING),
        Some(_) => true,
        None => {
            headers.contains_key(header::TRANSFER_ENCODING) || request.version() == Version::HTTP_2
        }
    }
}

/// Returns the length of a body, if it is declared and counts: the library prefers `Transfer-Encoding`.
pub(super) fn declared_length(request: &ServiceRequest) -> Option<u64> {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse();
    length
        .ok()
        .filter(|_| !headers.contains_key(header::TRANSFER_ENCODING))
}

/// Checks the head of a body. Returns its length, if that is declared.
fn check_declared(request: &ServiceRequest, max: usize) -> Result<Option<usize>, ApiError> {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        let error = ApiError::new(ProblemCode::UnsupportedMediaType);
        return Err(error.with_detail("Send the body without a Content-Encoding."));
    }
    let declared =
        declared_length(request).map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if declared.is_some_and(|length| length > max) {
        return Err(ApiError::new(ProblemCode::BodyTooLarge));
    }
    Ok(declared)
}

/// Returns the maximum size of a body that is a file.
fn max_file_bytes(request: &ServiceRequest, state: &HttpState) -> usize {
    let max = max_body_bytes_of_file(request.headers(), state.bodies.sizes.file_bytes.into());
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if is_forwarded(request.request()) {
        max.saturating_add(TRAILER_BYTES)
    } else {
        max
    }
}

async fn read_limited(
    request: &mut ServiceRequest,
    state: &HttpState,
    max: usize,
) -> Result<Bytes, ApiError> {
    let declared = check_declared(request, max)?;
    let mut payload = request.take_payload();
    let collected = collect(&mut payload, max, declared.unwrap_or(0));
    let collected = tokio::time::timeout(state.bodies.deadline, collected).await;
    // If the request is rejected, the rest of the body is needed again.
    request.set_payload(payload);
    collected.map_err(|_elapsed| ApiError::new(ProblemCode::RequestTimeout))?
}

/// Reads a body that may contain files. A short one must arrive as other bodies do.
async fn read_with_files(
    request: &mut ServiceRequest,
    state: &HttpState,
    mut memory: TakenMemory,
) -> Result<Bytes, ApiError> {
    let usual = state.bodies.sizes.body_bytes as usize;
    let max = usual.max(MAX_BODY_WITH_FILES);
    let declared = check_declared(request, max)?;
    if declared.is_some_and(|declared| declared <= usual) {
        return read_limited(request, state, usual).await;
    }
    if !memory.has_room_for(declared.unwrap_or_default()) {
        return Err(ApiError::new(ProblemCode::Overloaded));
    }
    let mut payload = request.take_payload();
    let collected = collect_paced(&mut payload, (max, declared), &mut memory, state).await;
    request.set_payload(payload);
    request.extensions_mut().insert(memory);
    collected
}

async fn collect_paced(
    payload: &mut Payload,
    (max, declared): (usize, Option<usize>),
    memory: &mut TakenMemory,
    state: &HttpState,
) -> Result<Bytes, ApiError> {
    let mut body = LongBody::with_capacity(declared.unwrap_or(max))?;
    let mut pace = Pace::new(state.bodies.deadline);
    while let Some(chunk) = pace.next(payload).await? {
        // Too large is 413, also if there is no memory.
        body.push(&chunk)?;
        // In steps: a client that sends slowly occupies little more than what it has sent.
        let needed = body.length.next_multiple_of(MEMORY_STEP);
        memory
            .grow_to(needed)
            .map_err(|_out_of_memory| ApiError::new(ProblemCode::Overloaded))?;
    }
    Ok(Bytes::from_owner(body))
}

/// Gives the memory of a body back that has been passed on to another region.
pub fn forget_body(request: &HttpRequest) {
    request.extensions_mut().remove::<TakenMemory>();
}

async fn collect(payload: &mut Payload, max: usize, expected: usize) -> Result<Bytes, ApiError> {
    let mut body = BytesMut::with_capacity(expected);
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            let rejected = ApiError::new(ProblemCode::MalformedJson);
            rejected
                .with_detail("The connection was closed before the end of the body.")
                .with_source(error.to_string())
        })?;
        if body.len() + chunk.len() > max {
            return Err(ApiError::new(ProblemCode::BodyTooLarge));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
