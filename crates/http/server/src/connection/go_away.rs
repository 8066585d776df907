//! Announces the end of an HTTP/2 connection to the client, which the HTTP library does not.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::AsyncWrite;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The frame GOAWAY with the highest stream id and without an error (RFC 9113, section 6.8): the
/// client opens no more streams, and those that it has opened continue.
const FRAME: [u8; 17] = [
    0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0,
];
const HEADER_BYTES: usize = 9;
/// The types of frames that contain headers, and the flag of the last one.
const HEADERS: u8 = 1;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// Writes GOAWAY once the server is closing.
pub(super) struct GoAway {
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
    is_closing: bool,
    /// The number of bytes of the frame that are written.
    written: usize,
    frames: Frames,
}

impl GoAway {
    pub(super) fn new(closing: CancellationToken) -> Self {
        Self {
            closing: Box::pin(closing.cancelled_owned()),
            is_closing: false,
            written: 0,
            frames: Frames::default(),
        }
    }

    /// Writes the frame if it is due and no other frame is being written. Everything else waits
    /// until it is written.
    pub(super) fn poll<S: AsyncWrite + Unpin>(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<()>> {
        self.is_closing = self.is_closing || self.closing.as_mut().poll(context).is_ready();
        if !self.is_closing || !self.frames.is_between() {
            return Poll::Ready(Ok(()));
        }
        while self.written < FRAME.len() {
            let left = &FRAME[self.written..];
            let written = ready!(Pin::new(&mut *stream).poll_write(context, left))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        Poll::Ready(Ok(()))
    }

    /// Records that the first `count` bytes of `slices` are written.
    pub(super) fn record(&mut self, slices: &[IoSlice<'_>], mut count: usize) {
        for slice in slices {
            let written = count.min(slice.len());
            self.frames.advance(&slice[..written]);
            count -= written;
        }
    }
}

/// The position in the frames that the HTTP library has written.
#[derive(Default)]
struct Frames {
    /// True once there was a frame. The first one must be SETTINGS.
    has_begun: bool,
    header: [u8; HEADER_BYTES],
    /// The number of bytes of the header of the current frame.
    header_bytes: usize,
    /// The number of bytes that its payload lacks.
    payload_left: usize,
    /// True within the headers of a message, whose frames no other frame may separate.
    is_in_headers: bool,
}

impl Frames {
    /// Returns true if another frame may follow.
    fn is_between(&self) -> bool {
        let is_complete = self.header_bytes == 0 && self.payload_left == 0;
        self.has_begun && is_complete && !self.is_in_headers
    }

    fn advance(&mut self, mut bytes: &[u8]) {
        self.has_begun = self.has_begun || !bytes.is_empty();
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let count = self.payload_left.min(bytes.len());
                self.payload_left -= count;
                bytes = &bytes[count..];
                continue;
            }
            let count = (HEADER_BYTES - self.header_bytes).min(bytes.len());
            self.header[self.header_bytes..][..count].copy_from_slice(&bytes[..count]);
            self.header_bytes += count;
            bytes = &bytes[count..];
            if self.header_bytes == HEADER_BYTES {
                let [high, middle, low, kind, flags, ..] = self.header;
                if matches!(kind, HEADERS | PUSH_PROMISE | CONTINUATION) {
                    self.is_in_headers = flags & END_HEADERS == 0;
                }
                self.payload_left =
                    usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                self.header_bytes = 0;
            }
        }
    }
}
