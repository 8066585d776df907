//! Server-sent events, as the HTML standard defines them.
//!
//! Streams are pulled: the connection requests the next frame when it has room for it, so a slow
//! client causes no work and uses no memory.

mod position;

use std::{
    borrow::Cow,
    fmt::{Display, Write as _},
    io::Write as _,
    iter,
    pin::Pin,
    sync::Arc,
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

pub use position::{last_event_id, requested_position};

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

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The position of the event log that a client that reconnects sends.
    pub id: Option<Seq>,
    /// The name of its type.
    pub name: Cow<'static, str>,
    /// The data; shared, because many streams may send the same event.
    pub data: Arc<str>,
}

/// Events that are encoded already, to be sent in one piece.
#[derive(Debug, Default)]
pub struct Events(Vec<u8>);

impl Events {
    /// Adds an event whose data is `value` as JSON. `name` is absent where the data contains the
    /// type.
    pub fn push(&mut self, name: Option<&str>, id: Option<impl Display>, value: &impl Serialize) {
        self.0.reserve(256);
        if let Some(name) = name {
            self.field("event", name);
        }
        if let Some(id) = id {
            self.field("id", id);
        }
        self.0.extend_from_slice(b"data: ");
        // The value consists of text, numbers and JSON, so it can be serialized, and JSON is one line.
        let _ = serde_json::to_writer(&mut self.0, value);
        self.0.extend_from_slice(b"\n\n");
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

    fn field(&mut self, name: &str, value: impl Display) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.0, "{name}: {value}");
    }
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// An event.
    Event(Event),
    /// The bytes of [`Events`].
    Encoded(Bytes),
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

impl From<Event> for Frame {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// Returns a response that sends `frames`, and comments while there are none.
pub fn stream<F: Into<Frame> + 'static>(frames: impl Stream<Item = F> + 'static) -> HttpResponse {
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
struct Encoder<F> {
    frames: LocalBoxStream<'static, F>,
    /// A position that has not been sent yet.
    unsent_position: Option<Seq>,
    comment_timer: Pin<Box<Sleep>>,
}

impl<F: Into<Frame> + 'static> Stream for Encoder<F> {
    type Item = Result<Bytes, Cut>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Poll::Ready(frame) = self.frames.as_mut().poll_next(context) {
            let Some(frame) = frame.map(Into::into) else {
                return Poll::Ready(None);
            };
            if let Frame::Position(position) = frame {
                self.unsent_position = Some(position);
                continue;
            }
            if frame == Frame::Cut {
                return Poll::Ready(Some(Err(Cut)));
            }
            let text = encode(frame);
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

impl<F> Encoder<F> {
    fn reset_timer(&mut self) {
        self.comment_timer
            .as_mut()
            .reset(Instant::now() + COMMENT_INTERVAL);
    }
}

/// Encodes one frame. A position and a cut have no text of their own.
fn encode(frame: Frame) -> Bytes {
    let mut text = String::new();
    match frame {
        Frame::Event(event) => encode_event(&mut text, &event),
        Frame::Encoded(events) => return events,
        Frame::Position(_) | Frame::Cut => return Bytes::new(),
        Frame::Reconnect { after, from } => {
            field(&mut text, "retry", after.as_millis());
            field(&mut text, "id", from.0);
        }
    }
    text.into()
}

fn encode_event(text: &mut String, event: &Event) {
    text.reserve(event.data.len() + 96);
    field(text, "event", &event.name);
    if let Some(seq) = event.id {
        field(text, "id", seq.0);
    }
    for line in lines(&event.data) {
        field(text, "data", line);
    }
    // Only events end with a blank line: some clients dispatch an empty event at each of them.
    text.push('\n');
}

/// Encodes a comment, with the position from which a client that reconnects continues.
fn comment(position: Option<Seq>) -> Bytes {
    let mut text = ":\n".to_owned();
    if let Some(position) = position {
        field(&mut text, "id", position.0);
    }
    text.into()
}

fn field(text: &mut String, name: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name}: {value}");
}

/// Splits a text into lines at all three line endings of the standard. Events are long and have one
/// line, and searching for one character is many times faster than for two.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = text.split('\n').peekable();
    let ended = iter::from_fn(move || {
        let part = parts.next()?;
        let is_ended = parts.peek().is_some();
        // CR LF is one line ending.
        let line = part.strip_suffix('\r').filter(|_| is_ended);
        Some(line.unwrap_or(part))
    });
    ended.flat_map(|line| line.split('\r'))
}

#[cfg(test)]
mod tests;
