//! The part of the layer that serves requests at home.

use std::{sync::Arc, time::Duration};

use access::AuthContext;
use actix_web::{
    Error, HttpMessage as _,
    body::{BodySize, MessageBody},
    dev::{Payload, ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};
use domain::{ForwardedRequest, Seq};
use kit::{
    auth::rejected_region, layers::reject, operations::Served, problem::ApiError,
    region::X_CONSISTENCY, request::REPLAYED, state::HttpState,
};

use super::{
    layer::{caller_of, header_position, operation_of, take_body},
    positioned_body::{X_REGION_FRAMES, encode},
    streamed_upload::verified,
};

/// The maximum time for which a read at home waits for this node's caches.
const CACHE_WAIT: Duration = Duration::from_millis(100);

/// Serves a request at home.
pub(super) async fn serve_home(
    state: Data<HttpState>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let forwarded = request.extensions().get::<Arc<ForwardedRequest>>().cloned();
    let reads_frames = forwarded.is_some() && request.headers().contains_key(X_REGION_FRAMES);
    let operation = operation_of(&request, &state);
    if let Some(forwarded) = forwarded {
        if forwarded.is_streamed() && operation.is_some_and(|operation| operation.takes_file) {
            let body = verified(&mut request, forwarded, state.clone());
            request.set_payload(body);
        } else if let Err(error) = check_body(&mut request, &forwarded).await {
            return Ok(reject(request, error));
        }
    }
    let caller = caller_of(&request);
    if let (Some(operation), Some(caller)) = (operation, &caller)
        && operation.served == Served::Replica
    {
        match header_position(&request) {
            Ok(Some(position)) => await_caches(&state, caller, position).await,
            Ok(None) => {}
            Err(error) => return Ok(reject(request, error)),
        }
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    let write = operation.filter(|operation| operation.is_write());
    if let (Some(operation), Some(caller)) = (write, caller) {
        // A response without an effect of its own may depend on a write through another node, which
        // may also have ended the turn.
        let may_end_elsewhere = operation.starts_turn || operation.ends_turn;
        let is_done = response.status().is_success() && !is_replayed(&response);
        let is_own = is_done && !may_end_elsewhere;
        let position = state
            .region
            .positions
            .newest(&caller.principal.tenant, is_own);
        match position.await {
            Ok(position) => {
                let headers = response.headers_mut();
                headers.insert(X_CONSISTENCY, HeaderValue::from(position.0));
            }
            Err(error) => {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, "a response has no position of the event log");
            }
        }
        if reads_frames {
            return Ok(with_positions(response, state, caller));
        }
    }
    Ok(response)
}

/// Reads the body of a forwarded request, which must be what the far region has signed.
async fn check_body(
    request: &mut ServiceRequest,
    forwarded: &ForwardedRequest,
) -> Result<(), ApiError> {
    let body = take_body(request).await?;
    if !forwarded.has_body(&body) {
        tracing::warn!(region = %forwarded.region, "forwarded request rejected: other body");
        return Err(rejected_region());
    }
    request.set_payload(Payload::from(body));
    Ok(())
}

/// Waits until the caches of this node reflect a position that another node may have written.
async fn await_caches(state: &HttpState, caller: &AuthContext, position: Seq) {
    let (tenant, positions) = (&caller.principal.tenant, &state.region.positions);
    let reached = positions.reaches(tenant, position, CACHE_WAIT).await;
    if let Err(error) = reached {
        let error = ports::error::one_line(&error);
        tracing::debug!(
            error,
            "cannot compare a required position with the event log"
        );
    }
}

/// Adds the positions that a streamed response to a write reaches.
fn with_positions(
    mut response: ServiceResponse,
    state: Data<HttpState>,
    caller: Arc<AuthContext>,
) -> ServiceResponse {
    if response.response().body().size() != BodySize::Stream {
        return response;
    }
    let (name, marked) = (
        HeaderName::from_static(X_REGION_FRAMES),
        HeaderValue::from_static("1"),
    );
    response.headers_mut().insert(name, marked);
    response.map_body(|_, body| {
        let newest = move || state.region.positions.known(&caller.principal.tenant);
        encode(body, newest)
    })
}

fn is_replayed(response: &ServiceResponse) -> bool {
    response.headers().contains_key(&REPLAYED.0)
}
