//! A limit on the bytes that are read from a client at a time.
//!
//! The HTTP library parses everything that it has read before it counts requests: a buffer of 128
//! KiB full of short heads becomes thousands of requests with kilobytes of memory each, and with a
//! full buffer the library polls without pause. So it receives a little at a time, and nothing
//! while a request is processed that needs no more input; further bytes wait in the connection.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};

/// The number of bytes that the library receives before it must parse them: about twenty of the
/// shortest heads, or an ordinary head in one piece.
pub(super) const PORTION_BYTES: usize = 1024;

/// The number of bytes of a body of known length, which contains no heads.
pub(super) const BODY_PORTION_BYTES: usize = 4 * 1024;

/// The state of reading from one client.
#[derive(Default)]
pub(super) struct ReadThrottle {
    /// A byte read ahead, which shows that a client has sent more while its request is processed.
    peeked: Option<u8>,
    /// The number of bytes read since the library last parsed.
    portion_bytes: usize,
}

impl ReadThrottle {
    /// Reads the next portion, and nothing more before it was parsed. Of the next `body_left` bytes, all but a portion
    /// belong to a body.
    pub(super) fn read_portion<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        body_left: u64,
    ) -> Poll<io::Result<()>> {
        let left_of = |portion: usize| portion.saturating_sub(self.portion_bytes) as u64;
        let limit = body_left.min(left_of(BODY_PORTION_BYTES));
        let limit = limit.max(left_of(PORTION_BYTES));
        if limit == 0 {
            self.portion_bytes = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let mut limited = stream.take(limit);
        let polled = self.read(&mut limited, context, buffer);
        self.portion_bytes += buffer.filled().len() - before;
        if polled.is_pending() {
            self.portion_bytes = 0;
        }
        polled
    }

    /// Reads everything that is available.
    pub(super) fn read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() > 0
            && let Some(byte) = self.peeked.take()
        {
            buffer.put_slice(&[byte]);
            // The next call finds out if that is all for now, or the end.
            return Poll::Ready(Ok(()));
        }
        Pin::new(stream).poll_read(context, buffer)
    }

    /// Waits for the client to send something or to close its side. Returns true if it has sent
    /// something, of which at most one byte is read.
    pub(super) fn peek<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        if self.peeked.is_none() {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
            self.peeked = buffer.filled().first().copied();
        }
        Poll::Ready(Ok(self.peeked.is_some()))
    }
}

#[cfg(test)]
mod tests;
