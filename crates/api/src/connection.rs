//! A client's connection, with the deadlines that the HTTP library does not keep.
//!
//! The library times the head of a connection's first request only, and takes a client for slow
//! whose request lay there while this process was busy: so heads are timed here, all of them. It
//! waits without end for a client that does not read its answer, and takes in all that a client
//! sends meanwhile.

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

mod deadline;
mod heads;
mod holding;
mod intake;
mod parser_refusal;
mod progress;
#[cfg(test)]
mod tests;

use deadline::Deadline;
use heads::Heads;
pub use holding::hold;
use intake::Intake;
use progress::Doing;
pub use progress::Progress;

/// A client that has to be waited for must take [`LEAST_TAKEN`] in this time.
const STALL_DEADLINE: Duration = Duration::from_secs(30);
/// About half a kilobyte a second: the slowest of radios is faster.
const LEAST_TAKEN: usize = 16 * 1024;
/// A client that was sent its last bytes must take [`LEAST_TAKEN`] of them, or all, in this time: one
/// that was asleep for a while finds them when it wakes, and they contain what to do.
const PARTING_DEADLINE: Duration = Duration::from_secs(15);
/// A client that is awake after all, and has had its last bytes, may take so long to close its side.
const LINGER_DEADLINE: Duration = Duration::from_secs(2);
/// The answer to a head that does not arrive in time. Nobody knows yet what it asks for, or by
/// which rules an answer to it is made.
const LATE: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A client's connection.
pub struct Connection<S = TcpStream> {
    stream: S,
    progress: Progress,
    heads: Heads,
    intake: Intake,
    stall: Deadline,
    /// Bytes that the client took since it had to be waited for.
    taken: usize,
    /// Whether this side is closed.
    is_shut: bool,
    /// By when a client that is heard of after that must have closed its own.
    linger: Deadline,
    /// Bytes that were written of a parser's refusal.
    refusal_written: usize,
}

impl<S> Connection<S> {
    /// A connection that was just accepted.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            progress: Progress::new(),
            heads: Heads::default(),
            intake: Intake::default(),
            stall: Deadline::default(),
            taken: 0,
            is_shut: false,
            linger: Deadline::default(),
            refusal_written: 0,
        }
    }

    /// What its requests tell it.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let doing = this.progress.doing();
        if doing == Doing::Done {
            return Poll::Ready(Ok(()));
        }
        let is_http = !matches!(doing, Doing::HandedOver | Doing::Parting);
        if doing == Doing::Serving || is_http && this.stall.is_set() {
            return this.put_off(context);
        }
        let before = buffer.filled().len();
        let is_room = buffer.remaining() > 0;
        let polled = if is_http {
            this.intake.give_portion(&mut this.stream, context, buffer)
        } else {
            this.intake.give(&mut this.stream, context, buffer)
        };
        let bytes = buffer.filled().len() - before;
        if is_room && bytes == 0 && matches!(polled, Poll::Ready(Ok(()))) {
            this.progress.leave();
        }
        this.heads.note(&this.progress, bytes);
        if polled.is_pending() && this.heads.is_late(&this.progress, context) {
            if doing == Doing::First {
                // As far as it is taken at once; nothing was written before it.
                let _ = Pin::new(&mut this.stream).poll_write(context, LATE);
            }
            return Poll::Ready(Err(late("the request's head did not arrive in time")));
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Takes nothing in until the request that is served is answered, and the client has taken the
    /// answer. Only that a client that sends nothing more closes its side is found out meanwhile;
    /// of one that has sent something, the next write finds it out.
    fn put_off(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let more = ready!(self.intake.look_ahead(&mut self.stream, context))?;
        if more {
            self.progress.put_off(context);
            return Poll::Pending;
        }
        self.progress.leave();
        Poll::Ready(Ok(()))
    }

    /// Writes bytes of the HTTP library, and with its parser's refusals that they are the last.
    fn write_http(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut stream = Pin::new(&mut self.stream);
        match parser_refusal::find(bytes) {
            None => stream.poll_write(context, bytes),
            Some(0) => {
                let refusal = parser_refusal::closing(bytes);
                while self.refusal_written < refusal.len() {
                    let left = &refusal[self.refusal_written..];
                    let written = ready!(stream.as_mut().poll_write(context, left))?;
                    if written == 0 {
                        return Poll::Ready(Ok(0));
                    }
                    self.refusal_written += written;
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
            self.progress.record_taken();
            self.taken += written.as_ref().copied().unwrap_or(0);
            if self.taken >= LEAST_TAKEN {
                self.catch_up();
                self.stall.extend(PARTING_DEADLINE);
            }
            return polled;
        }
        if self.progress.is_parting() {
            self.stall.set_once(PARTING_DEADLINE);
            if self.progress.doing() == Doing::Done {
                let _ = self.discard(context);
            }
        } else {
            self.stall.set(STALL_DEADLINE);
        }
        if self.stall.has_passed(context) {
            return Poll::Ready(Err(late("the client does not read its answer")));
        }
        Poll::Pending
    }

    /// The client has taken enough, or all there is.
    fn catch_up(&mut self) {
        self.taken = 0;
        // The library flushes each time it looks at the connection, mostly nothing.
        if self.stall.is_set() {
            self.stall.clear();
            self.progress.go_on();
        }
    }

    /// Throws away what still comes. Unread it would break the connection off when this side goes,
    /// and with it what is still on its way to the client. Ready when nothing more comes.
    fn discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // A client that sends on and on gets no more than its share of this thread's time.
        for _ in 0..8 {
            let mut bytes = [0; 2048];
            let mut buffer = ReadBuf::new(&mut bytes);
            let polled = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            if ready!(polled).is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
            if self.is_shut {
                self.linger.set_once(LINGER_DEADLINE);
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
        let polled = if self.progress.doing() == Doing::HandedOver {
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
        // It is called when all is written.
        self.catch_up();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closes this side. Much may still be on its way to a client that had to be waited for: it has
    /// the rest of its time to take that, and to close its side.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_shut {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            this.is_shut = true;
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

fn late(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}
