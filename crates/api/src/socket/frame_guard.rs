//! Stops what is too large before it is read.

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

use super::frame_headers::FrameHeaders;

#[cfg(test)]
mod tests;

/// Whether there is more to come.
#[derive(Debug)]
enum Passage {
    Open,
    /// What stood before the offending length has been handed on, its refusal has not.
    Refusing,
    Closed,
}

/// The bytes of a WebSocket as the client sends them, up to a frame above
/// [`FRAME_BYTES`](super::FRAME_BYTES) or a message above
/// [`MESSAGE_BYTES`](super::MESSAGE_BYTES): instead of the last byte of the length that declares
/// it comes [`PayloadError::Overflow`], then nothing.
///
/// The codec behind it looks at the size of a frame only once the whole of it lies in memory: a
/// header that declares a gibibyte would let a client fill as much.
#[derive(Debug)]
pub struct FrameGuard<S> {
    inner: S,
    headers: FrameHeaders,
    passage: Passage,
}

impl<S> FrameGuard<S> {
    /// Guards what `inner` yields, from the first byte after the upgrade on.
    pub const fn new(inner: S) -> Self {
        Self {
            inner,
            headers: FrameHeaders::new(),
            passage: Passage::Open,
        }
    }

    fn hand_on(&mut self, mut chunk: Bytes) -> Result<Bytes, PayloadError> {
        match self.headers.excess_in(&chunk) {
            None => Ok(chunk),
            Some(0) => {
                self.passage = Passage::Closed;
                Err(PayloadError::Overflow)
            }
            Some(place) => {
                self.passage = Passage::Refusing;
                chunk.truncate(place);
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
        match this.passage {
            Passage::Open => {
                let item = ready!(Pin::new(&mut this.inner).poll_next(context));
                Poll::Ready(item.map(|chunk| this.hand_on(chunk?)))
            }
            Passage::Refusing => {
                this.passage = Passage::Closed;
                Poll::Ready(Some(Err(PayloadError::Overflow)))
            }
            Passage::Closed => Poll::Ready(None),
        }
    }
}

/// The payload of an upgrade, guarded. It never fails: the error is that of the extractor, the
/// only way there is to make a [`web::Payload`].
pub async fn guarded(request: &HttpRequest, payload: web::Payload) -> Result<web::Payload, Error> {
    let guard: BoxedPayloadStream = Box::pin(FrameGuard::new(payload.into_inner()));
    web::Payload::from_request(request, &mut dev::Payload::from(guard)).await
}
