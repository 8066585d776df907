//! Server-sent events, as the HTML standard has them: what several endpoints stream.
//!
//! A stream is pulled: the connection asks for the next frame when it has room for it, so a client
//! that does not read makes nobody else work or remember.

use std::{
    convert::Infallible,
    fmt::{Display, Write as _},
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
use tokio::time::{Instant, Sleep};

/// The media type.
pub const EVENT_STREAM: &str = "text/event-stream";

/// After so long without a frame comes a comment, so that nobody between takes the connection for
/// a dead one.
const SILENCE: Duration = Duration::from_secs(15);

/// Proxies that gather answers must not gather this one.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Where a client that reconnects goes on.
    pub id: Option<Seq>,
    /// Its type.
    pub name: &'static str,
    /// What it carries; shared, because many streams may send the same.
    pub data: Arc<str>,
}

/// What a stream is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Something that happened.
    Event(Event),
    /// Nothing to show happened up to this position: a client that reconnects need not look there
    /// again. It is told with the next comment.
    Position(Seq),
    /// What to do when the connection breaks: wait so long, then go on from there.
    Reconnect {
        /// How long.
        after: Duration,
        /// From where.
        from: Seq,
    },
}

impl From<Event> for Frame {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

/// Answers with a stream that lives as long as `frames`, with comments where it is silent.
pub fn stream<F: Into<Frame> + 'static>(frames: impl Stream<Item = F> + 'static) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, HeaderValue::from_static("no-store")))
        .insert_header((X_ACCEL_BUFFERING, HeaderValue::from_static("no")))
        .content_type(EVENT_STREAM)
        .streaming(Encoder {
            frames: Box::pin(frames),
            untold: None,
            silence: Box::pin(tokio::time::sleep(SILENCE)),
        })
}

/// Writes frames, and comments between them.
struct Encoder<F> {
    frames: LocalBoxStream<'static, F>,
    /// A position that the client was not told yet.
    untold: Option<Seq>,
    silence: Pin<Box<Sleep>>,
}

impl<F: Into<Frame> + 'static> Stream for Encoder<F> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Poll::Ready(frame) = self.frames.as_mut().poll_next(context) {
            let Some(frame) = frame.map(Into::into) else {
                return Poll::Ready(None);
            };
            if let Frame::Position(position) = frame {
                self.untold = Some(position);
                continue;
            }
            let text = encode(&frame);
            self.untold = None;
            self.listen_again();
            return Poll::Ready(Some(Ok(text)));
        }
        ready!(self.silence.as_mut().poll(context));
        self.listen_again();
        let comment = comment(self.untold.take());
        Poll::Ready(Some(Ok(comment)))
    }
}

impl<F> Encoder<F> {
    fn listen_again(&mut self) {
        self.silence.as_mut().reset(Instant::now() + SILENCE);
    }
}

/// One frame as the client reads it. A position has no text of its own.
fn encode(frame: &Frame) -> Bytes {
    let mut text = String::new();
    match frame {
        Frame::Event(event) => {
            text.reserve(event.data.len() + event.name.len() + 48);
            field(&mut text, "event", event.name);
            if let Some(id) = event.id {
                field(&mut text, "id", id.0);
            }
            for line in lines(&event.data) {
                field(&mut text, "data", line);
            }
        }
        Frame::Position(_) => return Bytes::new(),
        Frame::Reconnect { after, from } => {
            field(&mut text, "retry", after.as_millis());
            field(&mut text, "id", from.0);
            return text.into();
        }
    }
    // Only events end with a blank line: some clients dispatch an empty event at each of them.
    text.push('\n');
    text.into()
}

/// A comment, with the position from which a client that reconnects goes on.
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

/// The lines of a text by all three ends that the standard knows. Events are long and of one line,
/// and one character is found many times sooner than one of two.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = text.split('\n').peekable();
    let ended = iter::from_fn(move || {
        let part = parts.next()?;
        let is_ended = parts.peek().is_some();
        // Both characters together are one end.
        let line = part.strip_suffix('\r').filter(|_| is_ended);
        Some(line.unwrap_or(part))
    });
    ended.flat_map(|line| line.split('\r'))
}

#[cfg(test)]
mod tests;
