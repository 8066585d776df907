//! Takes in a request, its whole body within its size and its time.

use std::sync::Arc;

use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::header,
    middleware::Next,
    web::{Bytes, BytesMut, Data},
};
use application::access::Entrant;
use domain::ProblemCode;
use futures::StreamExt;

use super::{head::check_head, refuse, unread::Unread};
use crate::{
    connection::Progress, oauth, problem::ApiError, request::routed_path, state::ApiState,
};

/// The largest form of a client: two tokens of 16 KiB and what stands around them.
const FORM_BYTES: usize = 64 * 1024;

/// Takes in a request before the handler runs, so that a slow or endless one costs a handler
/// nothing. It comes behind whatever counts requests: those that are refused here count too.
pub async fn receive(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    match take_in(&mut request).await {
        Ok(()) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(error) => Ok(refuse(request, error)),
    }
}

async fn take_in(request: &mut ServiceRequest) -> Result<(), ApiError> {
    let state = request
        .app_data::<Data<ApiState>>()
        .cloned()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    check_head(request, &state.sizes)?;
    if !has_body(request) {
        return Ok(());
    }
    if is_upgrade(request) {
        // What comes behind it are frames.
        return Err(ApiError::header("Upgrade", "an upgrade has no body"));
    }
    if let Some(most) = most_bytes(request, &state) {
        let body = take_in_body(request, &state, most).await?;
        request.set_payload(Payload::from(body));
        Progress::of(request.request()).receive();
    } else {
        let unread = Unread(request.take_payload());
        request.extensions_mut().insert(unread);
    }
    Ok(())
}

/// How large a body may be; `None` when nobody is going to read it. Whoever is not known gets no
/// memory for one, but where clients say who they are in it.
fn most_bytes(request: &ServiceRequest, state: &ApiState) -> Option<usize> {
    let most = state.sizes.body_bytes as usize;
    if request.extensions().contains::<Arc<Entrant>>() {
        return Some(most);
    }
    oauth::is_endpoint(routed_path(request.request())).then_some(most.min(FORM_BYTES))
}

fn is_upgrade(request: &ServiceRequest) -> bool {
    routed_path(request.request()) == "/api/ws" && request.headers().contains_key(header::UPGRADE)
}

fn has_body(request: &ServiceRequest) -> bool {
    let headers = request.headers();
    let length = headers.get(header::CONTENT_LENGTH);
    length.is_some_and(|length| length != "0") || headers.contains_key(header::TRANSFER_ENCODING)
}

async fn take_in_body(
    request: &mut ServiceRequest,
    state: &ApiState,
    most: usize,
) -> Result<Bytes, ApiError> {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        let error = ApiError::new(ProblemCode::UnsupportedMediaType);
        return Err(error.with_detail("a body is taken without a Content-Encoding only"));
    }
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > most) {
        return Err(ApiError::new(ProblemCode::BodyTooLarge));
    }
    let mut payload = request.take_payload();
    let collected = collect(&mut payload, most, declared.unwrap_or(0));
    let collected = tokio::time::timeout(state.body_deadline, collected).await;
    // A refusal finds here what is left of it.
    request.set_payload(payload);
    collected.map_err(|_elapsed| ApiError::new(ProblemCode::RequestTimeout))?
}

async fn collect(payload: &mut Payload, most: usize, expected: usize) -> Result<Bytes, ApiError> {
    let mut body = BytesMut::with_capacity(expected);
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            let refused = ApiError::new(ProblemCode::MalformedJson);
            refused
                .with_detail("the body broke off")
                .because(error.to_string())
        })?;
        if body.len() + chunk.len() > most {
            return Err(ApiError::new(ProblemCode::BodyTooLarge));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}
