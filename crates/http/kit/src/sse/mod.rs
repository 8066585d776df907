//! Server-sent events, as the HTML standard defines them.
//!
//! Streams are pulled: the connection requests the next frame when it has room for it, so a slow
//! client causes no work and uses no memory.

mod position;

use std::{
    fmt::Display,
    io::Write as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_web::{
    HttpResponse,
    http::header::{CACHE_CONTROL, HeaderName, HeaderValue},
    web::Bytes,
};
use domain::Seq;
use futures::{Stream, stream::LocalBoxStream};
use serde::Serialize;
use tokio::time::{Instant, Sleep};

pub use position::{LAST_EVENT_ID, last_event_id, requested_position};

/// The media type of event streams.
pub const EVENT_STREAM: &str = "text/event-stream";

/// The time without a frame after which a comment is sent, so that proxies keep the connection
/// open.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// A header that prevents proxies from buffering the response.
pub const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Streams are not stored, and not compressed on the way: proxies that compress hold pieces back
/// until they have enough.
pub const STREAM_CACHING: HeaderValue = HeaderValue::from_static("no-store, no-transform");

/// Encoded events, to be sent in one piece.
#[derive(Debug, Default)]
pub struct Events(Vec<u8>);

impl Events {
    /// Adds an event whose data is `value` as JSON. `name` is absent where the data contains the
    /// type.
    pub fn push(&mut self, name: Option<&str>, id: Option<impl Display>, value: &impl Serialize) {
        self.0.reserve(256);
        self.begin(name, id);
        // The value consists of text, numbers and JSON, so it can be serialized, and JSON is one line.
        let _ = serde_json::to_writer(&mut self.0, value);
        self.end();
    }

    /// Adds an event whose data is one line of JSON.
    pub fn push_json(&mut self, name: &str, id: impl Display, json: &str) {
        self.0.reserve(json.len() + 96);
        self.begin(Some(name), Some(id));
        self.0.extend_from_slice(json.as_bytes());
        self.end();
    }

    /// Adds an event of which everything is in its data: `value` as JSON.
    pub fn push_data(&mut self, value: &impl Serialize) {
        self.push(None, None::<&str>, value);
    }

    /// Adds the last event of a stream, for clients that wait for it.
    pub fn push_done(&mut self) {
        self.0.extend_from_slice(b"data: [DONE]\n\n");
    }

    /// Adds other events after these, and leaves none of them.
    pub fn append(&mut self, other: &mut Self) {
        if self.0.is_empty() {
            std::mem::swap(&mut self.0, &mut other.0);
        } else {
            self.0.append(&mut other.0);
        }
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the events as they are sent, and leaves none.
    pub fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.0).into()
    }

    fn begin(&mut self, name: Option<&str>, id: Option<impl Display>) {
        if let Some(name) = name {
            field(&mut self.0, "event", name);
        }
        if let Some(id) = id {
            field(&mut self.0, "id", id);
        }
        self.0.extend_from_slice(b"data: ");
    }

    /// Only events end with a blank line: some clients dispatch an empty event at each of them.
    fn end(&mut self) {
        self.0.extend_from_slice(b"\n\n");
    }
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The bytes of [`Events`].
    Events(Bytes),
    /// A position up to which there are no events for this client. It is sent with the next
    /// comment, so that a client that reconnects continues there.
    Position(Seq),
    /// The instruction to reconnect after `after` and to continue from `from`.
    Reconnect {
        /// The delay.
        after: Duration,
        /// The position.
        from: Seq,
    },
    /// The end of the connection in the middle of the response, so that the client does not take
    /// what it has received for all.
    Cut,
}

/// The error that ends a connection in the middle of a response.
#[derive(Debug, thiserror::Error)]
#[error("the stream was cut on purpose")]
pub struct Cut;

impl From<Events> for Frame {
    fn from(events: Events) -> Self {
        Self::Events(events.0.into())
    }
}

/// Returns a response that sends `frames`, and comments while there are none.
pub fn stream(frames: impl Stream<Item = Frame> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, STREAM_CACHING))
        .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")))
        .content_type(EVENT_STREAM)
        .streaming(Encoder {
            frames: Box::pin(frames),
            unsent_position: None,
            comment_timer: Box::pin(tokio::time::sleep(COMMENT_INTERVAL)),
        })
}

/// The encoder of frames, with comments between them.
struct Encoder {
    frames: LocalBoxStream<'static, Frame>,
    /// A position that has not been sent yet.
    unsent_position: Option<Seq>,
    comment_timer: Pin<Box<Sleep>>,
}

impl Stream for Encoder {
    type Item = Result<Bytes, Cut>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Poll::Ready(frame) = self.frames.as_mut().poll_next(context) {
            let text = match frame {
                None => return Poll::Ready(None),
                Some(Frame::Cut) => return Poll::Ready(Some(Err(Cut))),
                Some(Frame::Position(position)) => {
                    self.unsent_position = Some(position);
                    continue;
                }
                Some(Frame::Events(events)) => events,
                Some(Frame::Reconnect { after, from }) => reconnect(after, from),
            };
            self.unsent_position = None;
            self.reset_timer();
            return Poll::Ready(Some(Ok(text)));
        }
        ready!(self.comment_timer.as_mut().poll(context));
        self.reset_timer();
        let comment = comment(self.unsent_position.take());
        Poll::Ready(Some(Ok(comment)))
    }
}

impl Encoder {
    fn reset_timer(&mut self) {
        self.comment_timer
            .as_mut()
            .reset(Instant::now() + COMMENT_INTERVAL);
    }
}

fn reconnect(after: Duration, from: Seq) -> Bytes {
    let mut text = Vec::new();
    field(&mut text, "retry", after.as_millis());
    field(&mut text, "id", from.0);
    text.into()
}

/// Encodes a comment, with the position from which a client that reconnects continues.
fn comment(position: Option<Seq>) -> Bytes {
    let mut text = b":\n".to_vec();
    if let Some(position) = position {
        field(&mut text, "id", position.0);
    }
    text.into()
}

fn field(text: &mut Vec<u8>, name: &str, value: impl Display) {
    // Writing to memory cannot fail.
    let _ = writeln!(text, "{name}: {value}");
}

#[cfg(test)]
mod tests;
