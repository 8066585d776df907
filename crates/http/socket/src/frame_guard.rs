//! Rejects oversized frames and messages before they are buffered.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use actix_http::BoxedPayloadStream;
use actix_web::{
    Error, FromRequest as _, HttpRequest, dev,
    error::PayloadError,
    web::{self, Bytes},
};
use futures::Stream;

use super::frame_headers::FrameHeaderParser;

#[cfg(test)]
mod tests;

/// The state of a guard.
#[derive(Debug)]
enum State {
    Open,
    /// The bytes before the offending length were passed on; the error follows.
    Overflowing,
    Closed,
}

/// Passes on the bytes of a WebSocket client until a frame exceeds
/// [`MAX_FRAME_BYTES`](super::MAX_FRAME_BYTES) or a message exceeds
/// [`MAX_MESSAGE_BYTES`](super::MAX_MESSAGE_BYTES). In place of the last byte of the length field
/// that declares the excess, it returns [`PayloadError::Overflow`], and then ends.
///
/// The codec behind it checks the size of a frame only after buffering all of it: a header that
/// declares one GiB would let a client fill that much memory.
#[derive(Debug)]
pub struct FrameGuard<S> {
    inner: S,
    headers: FrameHeaderParser,
    state: State,
}

impl<S> FrameGuard<S> {
    /// Guards `inner`, from the first byte after the upgrade on.
    pub const fn new(inner: S) -> Self {
        Self {
            inner,
            headers: FrameHeaderParser::new(),
            state: State::Open,
        }
    }

    fn check(&mut self, mut chunk: Bytes) -> Result<Bytes, PayloadError> {
        match self.headers.find_excess(&chunk) {
            None => Ok(chunk),
            Some(0) => {
                self.state = State::Closed;
                Err(PayloadError::Overflow)
            }
            Some(index) => {
                self.state = State::Overflowing;
                chunk.truncate(index);
                Ok(chunk)
            }
        }
    }
}

impl<S> Stream for FrameGuard<S>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        match this.state {
            State::Open => {
                let item = ready!(Pin::new(&mut this.inner).poll_next(context));
                Poll::Ready(item.map(|chunk| this.check(chunk?)))
            }
            State::Overflowing => {
                this.state = State::Closed;
                Poll::Ready(Some(Err(PayloadError::Overflow)))
            }
            State::Closed => Poll::Ready(None),
        }
    }
}

/// Guards the payload of an upgrade. Never fails: the error type belongs to the extractor, the only
/// way to make a [`web::Payload`].
pub async fn guard_payload(
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<web::Payload, Error> {
    let guard: BoxedPayloadStream = Box::pin(FrameGuard::new(payload.into_inner()));
    web::Payload::from_request(request, &mut dev::Payload::from(guard)).await
}
