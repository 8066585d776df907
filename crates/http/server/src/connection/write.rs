//! Writing to a client, with deadlines for clients that do not read.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Connection, connection_state::Phase, parser_refusal, timed_out};

/// The time in which a client that blocks writing must accept [`MIN_BYTES_TAKEN`].
pub(super) const STALL_DEADLINE: Duration = Duration::from_secs(30);
/// The minimum number of bytes in that time: about half a kilobyte a second, which the slowest
/// mobile networks exceed.
pub(super) const MIN_BYTES_TAKEN: usize = 16 * 1024;
/// The time in which a client must accept [`MIN_BYTES_TAKEN`] of the last bytes, or all of them. A
/// device that was asleep finds them when it wakes up, and they contain what to do.
pub(super) const CLOSING_DEADLINE: Duration = Duration::from_secs(15);
/// The time for which a client that is known to be active, and has received its last bytes, may
/// take to close its side.
pub(super) const LINGER_DEADLINE: Duration = Duration::from_secs(2);

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
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

    /// Writes bytes that need no change, and GOAWAY before them if it is due.
    fn write_frames(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(go_away) = &mut self.go_away {
            ready!(go_away.poll(context, &mut self.stream))?;
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        if let Some(go_away) = &mut self.go_away {
            go_away.record(slices, written);
        }
        Poll::Ready(Ok(written))
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
            self.write_frames(context, &[IoSlice::new(bytes)])
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
        let polled = self.write_frames(context, slices);
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
