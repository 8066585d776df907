//! The response with the parts of a turn.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, HeaderValue},
};
use application::chat::AcceptedTurn;
use domain::TurnEvent;
use kit::{
    auth::Authorized,
    layers::RequestId,
    sse::Events,
    state::HttpState,
    turn_stream::{self, EncodedTurn, StreamEncoder, TurnEncoder},
};
use ports::StreamSlot;

use super::part_converter::PartConverter;
use crate::answers::Seen;

/// The header by which clients recognise the protocol.
const X_VERCEL_AI_UI_MESSAGE_STREAM: HeaderName =
    HeaderName::from_static("x-vercel-ai-ui-message-stream");
const VERSION: HeaderValue = HeaderValue::from_static("v1");

/// Sends the parts of a turn.
struct PartEvents(PartConverter);

impl TurnEncoder for PartEvents {
    type Output = Events;

    async fn add(&mut self, event: TurnEvent, events: &mut Events) {
        let is_last = event.is_last();
        self.0.convert(event, &mut |part| events.push_data(&part));
        if is_last {
            events.push_done();
        }
    }
}

impl StreamEncoder for PartEvents {
    /// A client would take a stream that ends without `finish` for a complete reply.
    const IS_CUT: bool = true;
}

/// Returns the response with the parts of a turn that the client has not seen. `slot` is the caller's open stream.
pub(super) fn respond<R>(
    state: &HttpState,
    authorized: &Authorized<R>,
    request: &HttpRequest,
    slot: Option<StreamSlot>,
    (accepted, seen): (AcceptedTurn, Seen),
) -> HttpResponse {
    let parts = PartEvents(PartConverter::new(RequestId::of(request), seen));
    let turn = EncodedTurn::new(accepted, parts, Events::default());
    let mut response = turn_stream::respond(state, authorized, request, slot, turn);
    let headers = response.headers_mut();
    headers.insert(X_VERCEL_AI_UI_MESSAGE_STREAM, VERSION);
    response
}
