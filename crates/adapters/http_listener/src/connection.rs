//! A client's connection, with the deadlines that the HTTP library does not have.
//!
//! The library times only the head of a connection's first request, and blames the client if this
//! process was too busy to read it: so all heads are timed here. The library waits without limit
//! for a client that does not read its response, and reads everything that the client sends
//! meanwhile.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

mod connection_state;
mod deadline;
mod header_timeout;
mod parser_refusal;
mod read_throttle;
mod response_guard;
#[cfg(test)]
mod tests;

pub use connection_state::ConnectionState;
use connection_state::Phase;
use deadline::Deadline;
use header_timeout::HeaderTimeout;
use read_throttle::ReadThrottle;
pub use response_guard::hold_until_sent;

/// The time in which a client that blocks writing must accept [`MIN_BYTES_TAKEN`].
const STALL_DEADLINE: Duration = Duration::from_secs(30);
/// The minimum number of bytes in that time: about half a kilobyte a second, which the slowest
/// mobile networks exceed.
const MIN_BYTES_TAKEN: usize = 16 * 1024;
/// The time in which a client must accept [`MIN_BYTES_TAKEN`] of the last bytes, or all of them. A
/// device that was asleep finds them when it wakes up, and they contain what to do.
const CLOSING_DEADLINE: Duration = Duration::from_secs(15);
/// The time for which a client that is known to be active, and has received its last bytes, may
/// take to close its side.
const LINGER_DEADLINE: Duration = Duration::from_secs(2);
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
        }
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
            this.read_throttle
                .read_portion(&mut this.stream, context, buffer)
        } else {
            this.read_throttle.read(&mut this.stream, context, buffer)
        };
        let bytes = buffer.filled().len() - before;
        if is_room && bytes == 0 && matches!(polled, Poll::Ready(Ok(()))) {
            this.state.mark_client_closed();
        }
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

    /// Writes bytes of the HTTP library, and adds `connection: close` to its parser's refusals.
    fn write_http(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut stream = Pin::new(&mut self.stream);
        match parser_refusal::find(bytes) {
            None => stream.poll_write(context, bytes),
            Some(0) => {
                let refusal = parser_refusal::with_close(bytes);
                while self.refusal_bytes_written < refusal.len() {
                    let left = &refusal[self.refusal_bytes_written..];
                    let written = ready!(stream.as_mut().poll_write(context, left))?;
                    if written == 0 {
                        return Poll::Ready(Ok(0));
                    }
                    self.refusal_bytes_written += written;
                }
                Poll::Ready(Ok(bytes.len()))
            }
            Some(start) => stream.poll_write(context, &bytes[..start]),
        }
    }

    fn watch_write(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = &polled {
            self.state.record_write();
            self.bytes_taken += written.as_ref().copied().unwrap_or(0);
            if self.bytes_taken >= MIN_BYTES_TAKEN {
                self.clear_stall();
                self.stall.extend(CLOSING_DEADLINE);
            }
            return polled;
        }
        if self.state.is_closing() {
            self.stall.set_final(CLOSING_DEADLINE);
            if self.state.phase() == Phase::Closed {
                let _ = self.discard(context);
            }
        } else {
            self.stall.set(STALL_DEADLINE);
        }
        if self.stall.has_passed(context) {
            return Poll::Ready(Err(timed_out("the client does not read its response")));
        }
        Poll::Pending
    }

    /// Records that the client has accepted enough, or everything.
    fn clear_stall(&mut self) {
        self.bytes_taken = 0;
        // The library flushes whenever it polls the connection, usually without data.
        if self.stall.is_set() {
            self.stall.clear();
            self.state.resume_reading();
        }
    }

    /// Discards everything that still arrives. Unread data would reset the connection when this
    /// side closes, and with it the data that is still on its way to the client. Ready when nothing
    /// more arrives.
    fn discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // A client that sends without end gets only its share of this thread's time.
        for _ in 0..8 {
            let mut bytes = [0; 2048];
            let mut buffer = ReadBuf::new(&mut bytes);
            let polled = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            if ready!(polled).is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
            if self.is_shut_down {
                self.linger.set_final(LINGER_DEADLINE);
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = if self.state.phase() == Phase::Upgraded {
            Pin::new(&mut self.stream).poll_write(context, bytes)
        } else {
            self.write_http(context, bytes)
        };
        self.watch_write(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch_write(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Called when everything is written.
        self.clear_stall();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes this side. Much data may still be on its way to a client that blocked writing: it has
    /// the rest of its time to receive that and to close its side.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_shut_down {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            this.is_shut_down = true;
        }
        let is_over = !this.stall.is_final()
            || this.discard(context).is_ready()
            || this.stall.has_passed(context)
            || this.linger.has_passed(context);
        if is_over {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}

fn timed_out(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}
