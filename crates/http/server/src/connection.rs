//! A client's connection, with the deadlines that the HTTP library does not have.
//!
//! The library times only the head of a connection's first request, and blames the client if this
//! process was too busy to read it: so all heads are timed here. The library waits without limit
//! for a client that does not read its response, and reads everything that the client sends
//! meanwhile.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

mod connection_state;
mod deadline;
mod go_away;
mod header_timeout;
mod parser_refusal;
mod read_throttle;
mod response_guard;
#[cfg(test)]
mod tests;
mod write;

pub use connection_state::ConnectionState;
use connection_state::Phase;
use deadline::Deadline;
use go_away::GoAway;
use header_timeout::HeaderTimeout;
use read_throttle::ReadThrottle;
pub use response_guard::hold_until_sent;

/// The response to a head that does not arrive in time. The request is unknown, and so are the
/// rules for a response to it.
const TIMEOUT_RESPONSE: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A client's connection.
pub(crate) struct Connection<S = TcpStream> {
    stream: S,
    state: ConnectionState,
    header_timeout: HeaderTimeout,
    read_throttle: ReadThrottle,
    stall: Deadline,
    /// The bytes that the client has accepted since writing was blocked.
    bytes_taken: usize,
    /// True when this side is closed.
    is_shut_down: bool,
    /// The deadline for a client that sends something after that to close its own side.
    linger: Deadline,
    /// The bytes of a parser's refusal that have been written.
    refusal_bytes_written: usize,
    /// For a connection of HTTP/2.
    go_away: Option<GoAway>,
}

impl<S> Connection<S> {
    /// Wraps a connection that was just accepted.
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            state: ConnectionState::new(),
            header_timeout: HeaderTimeout::default(),
            read_throttle: ReadThrottle::default(),
            stall: Deadline::default(),
            bytes_taken: 0,
            is_shut_down: false,
            linger: Deadline::default(),
            refusal_bytes_written: 0,
            go_away: None,
        }
    }

    /// Wraps a connection of HTTP/2, on which several requests run at the same time. Its library has
    /// deadlines of its own, so only a client that blocks writing is disconnected here. Its client is
    /// asked to use another connection once `closing` is cancelled.
    pub(crate) fn shared(stream: S, closing: CancellationToken) -> Self {
        let connection = Self::new(stream);
        connection.state.switch_protocol();
        Self {
            go_away: Some(GoAway::new(closing)),
            ..connection
        }
    }

    /// Returns true if several requests run on the connection at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        self.state.phase() == Phase::Upgraded
    }

    /// Returns the state that the connection shares with its requests.
    pub(crate) fn state(&self) -> ConnectionState {
        self.state.clone()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(go_away) = &mut this.go_away
            && let Poll::Ready(Err(error)) = go_away.poll(context, &mut this.stream)
        {
            return Poll::Ready(Err(error));
        }
        let phase = this.state.phase();
        if phase == Phase::Closed {
            return Poll::Ready(Ok(()));
        }
        let is_http = !matches!(phase, Phase::Upgraded | Phase::Closing);
        if phase == Phase::Serving || is_http && this.stall.is_set() {
            return this.pause_reading(context);
        }
        let before = buffer.filled().len();
        let is_room = buffer.remaining() > 0;
        let polled = if is_http {
            let body_left = this.state.body_left();
            this.read_throttle
                .read_portion(&mut this.stream, context, buffer, body_left)
        } else {
            this.read_throttle.read(&mut this.stream, context, buffer)
        };
        let bytes = buffer.filled().len() - before;
        if is_room && bytes == 0 && matches!(polled, Poll::Ready(Ok(()))) {
            this.state.mark_client_closed();
        }
        this.state.record_read(bytes);
        this.header_timeout.record_read(&this.state, bytes);
        if polled.is_pending() && this.header_timeout.is_late(&this.state, context) {
            if phase == Phase::FirstRequest {
                // Only as much as can be written at once; nothing was written before it.
                let _ = Pin::new(&mut this.stream).poll_write(context, TIMEOUT_RESPONSE);
            }
            return Poll::Ready(Err(timed_out(
                "the head of the request did not arrive in time",
            )));
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Reads nothing until the current request is answered and the client has received the
    /// response. Meanwhile it only detects that a client which sends nothing more closes its side;
    /// for other clients the next write detects it.
    fn pause_reading(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let more = ready!(self.read_throttle.peek(&mut self.stream, context))?;
        if more {
            self.state.pause_reading(context);
            return Poll::Pending;
        }
        self.state.mark_client_closed();
        Poll::Ready(Ok(()))
    }
}

fn timed_out(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}
