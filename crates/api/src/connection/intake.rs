//! How much of what a client sends is taken in at a time.
//!
//! The HTTP library makes requests of all that it is given before it counts them: a buffer of
//! 128 KiB full of short heads becomes thousands of requests with kilobytes of memory each, and
//! when that buffer is full it asks again without pause. So it is given a little at a time, and
//! nothing while a request is served that needs nothing more: what comes then waits in the
//! client's connection.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};

/// What the library is given before it has to look at it: some twenty of the shortest heads, and
/// an ordinary head in one piece.
pub(super) const PORTION: usize = 1024;

/// What is taken in of one client.
#[derive(Default)]
pub(super) struct Intake {
    /// The byte that says that a client whose request is served has sent more.
    ahead: Option<u8>,
    /// How much was given since the library last looked at it.
    given: usize,
}

impl Intake {
    /// Gives the next portion, and nothing more before it was looked at.
    pub(super) fn give_portion<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.given >= PORTION {
            self.given = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let mut limited = stream.take((PORTION - self.given) as u64);
        let polled = self.give(&mut limited, context, buffer);
        self.given += buffer.filled().len() - before;
        if polled.is_pending() {
            self.given = 0;
        }
        polled
    }

    /// Gives all there is.
    pub(super) fn give<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() > 0
            && let Some(byte) = self.ahead.take()
        {
            buffer.put_slice(&[byte]);
            // That it is all for now, or the end, is found out the next time.
            return Poll::Ready(Ok(()));
        }
        Pin::new(stream).poll_read(context, buffer)
    }

    /// Waits for the client to send something or to close its side: ready with whether it has sent
    /// something. Of that, no more than a byte is taken in.
    pub(super) fn look_ahead<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        if self.ahead.is_none() {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
            self.ahead = buffer.filled().first().copied();
        }
        Poll::Ready(Ok(self.ahead.is_some()))
    }
}

#[cfg(test)]
mod tests;
