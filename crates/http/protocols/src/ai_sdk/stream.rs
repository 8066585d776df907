//! The response with the parts of a turn.

use std::pin::Pin;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderName, HeaderValue},
};
use application::{chat::AcceptedTurn, live_turns::TurnEventStream};
use futures::{Stream, stream};
use kit::{
    auth::{Authorized, stream_end},
    layers::RequestId,
    sse::{self, Event, Frame},
    state::HttpState,
};
use ports::StreamSlot;
use server::ConnectionState;

use super::part_converter::PartConverter;

/// The header by which clients recognise the protocol.
const X_VERCEL_AI_UI_MESSAGE_STREAM: HeaderName =
    HeaderName::from_static("x-vercel-ai-ui-message-stream");
const VERSION: HeaderValue = HeaderValue::from_static("v1");

/// A turn that is being sent.
struct OpenResponse {
    events: TurnEventStream,
    converter: PartConverter,
    is_ended: bool,
    /// Ends when the response must end before its turn.
    end: Pin<Box<dyn Future<Output = ()>>>,
    _slot: Option<StreamSlot>,
}

/// Returns the response with the parts of a turn. `slot` is the caller's open stream.
///
/// If the credential ends or the turn can no longer be read, the connection is cut: a client would
/// take a stream that ends without `finish` for a complete reply.
pub(super) fn respond<R>(
    state: &HttpState,
    authorized: &Authorized<R>,
    request: &HttpRequest,
    slot: Option<StreamSlot>,
    accepted: AcceptedTurn,
) -> HttpResponse {
    let watch = authorized.watch_credential(state);
    let end = stream_end(watch, ConnectionState::of(request).client_closed());
    let open = OpenResponse {
        events: accepted.events(),
        converter: PartConverter::new(RequestId::of(request)),
        is_ended: false,
        end: Box::pin(end),
        _slot: slot,
    };
    let mut response = sse::stream(frames(open));
    let headers = response.headers_mut();
    headers.insert(X_VERCEL_AI_UI_MESSAGE_STREAM, VERSION);
    response
}

fn frames(open: OpenResponse) -> impl Stream<Item = Frame> {
    stream::unfold(open, async |mut open| {
        let frame = open.next().await?;
        Some((frame, open))
    })
}

impl OpenResponse {
    /// Waits for the next event of the turn that has parts, and returns them with those of the
    /// events that are ready too.
    async fn next(&mut self) -> Option<Frame> {
        let mut parts = Vec::new();
        while parts.is_empty() {
            if self.is_ended {
                return None;
            }
            let event = tokio::select! {
                biased;
                event = self.events.next() => event,
                () = &mut self.end => None,
            };
            match event {
                Some(Ok(event)) => self.is_ended = self.converter.convert(event, &mut parts),
                Some(Err(error)) => {
                    tracing::warn!(
                        error = ports::error::one_line(&error),
                        "chat stream cannot read its turn from the store; cutting the connection"
                    );
                    return Some(self.cut());
                }
                None => return Some(self.cut()),
            }
            while !self.is_ended
                && let Some(event) = self.events.next_ready()
            {
                self.is_ended = self.converter.convert(event, &mut parts);
            }
        }
        let mut events: Vec<_> = parts.iter().map(Event::json).collect();
        if self.is_ended {
            events.push(Event::done());
        }
        Some(Frame::Events(events))
    }

    fn cut(&mut self) -> Frame {
        self.is_ended = true;
        Frame::Cut
    }
}
