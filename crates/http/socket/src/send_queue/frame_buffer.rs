//! The text frames that wait to be sent on one connection.

use std::collections::VecDeque;

use bytestring::ByteString;
use thiserror::Error;

/// The maximum size of the queued frames, in bytes. A client that needs more is too slow.
const MAX_BYTES: usize = 1024 * 1024;
/// The size from which live data is left out, to be sent later in one snapshot.
const CONGESTED_BYTES: usize = 256 * 1024;
/// The size below which a replay continues.
const ROOM_BYTES: usize = 64 * 1024;

/// The send queue is full: the client reads too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the send queue is full")]
pub struct SendQueueFull;

/// Text frames in sending order. The limits are in bytes, because the number of frames does not
/// determine their memory. An empty buffer allocates nothing: most sockets are idle.
#[derive(Debug, Default)]
pub(super) struct FrameBuffer {
    frames: VecDeque<ByteString>,
    bytes: usize,
}

impl FrameBuffer {
    /// Adds a frame, unless the buffer would exceed 1 MiB. An empty buffer accepts a frame of any
    /// size: a client that has read everything is not slow.
    pub(super) fn push(&mut self, frame: ByteString) -> Result<(), SendQueueFull> {
        if self.bytes + frame.len() > MAX_BYTES && !self.frames.is_empty() {
            return Err(SendQueueFull);
        }
        self.add(frame);
        Ok(())
    }

    /// Adds a frame without a limit.
    pub(super) fn add(&mut self, frame: ByteString) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Removes the next frame to send.
    pub(super) fn pop(&mut self) -> Option<ByteString> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.len();
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
        Some(frame)
    }

    /// Returns whether 256 KiB or more wait: live data is then left out and sent later in one
    /// snapshot.
    pub(super) const fn is_congested(&self) -> bool {
        self.bytes >= CONGESTED_BYTES
    }

    /// Returns whether less than 64 KiB wait: only then a replay continues.
    pub(super) const fn has_room(&self) -> bool {
        self.bytes < ROOM_BYTES
    }

    /// The size of the waiting frames.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: usize) -> ByteString {
        ByteString::from("x".repeat(bytes))
    }

    fn buffer_with(bytes: usize) -> FrameBuffer {
        let mut buffer = FrameBuffer::default();
        buffer.push(frame(bytes)).unwrap();
        buffer
    }

    #[test]
    fn returns_frames_in_the_order_in_which_they_were_added() {
        let mut buffer = FrameBuffer::default();
        for text in ["one", "two", "three"] {
            buffer.push(ByteString::from_static(text)).unwrap();
        }
        assert_eq!(buffer.bytes(), 11);
        assert_eq!(buffer.pop().unwrap(), "one");
        assert_eq!(buffer.bytes(), 8);
        buffer.push(ByteString::from_static("four")).unwrap();
        for expected in ["two", "three", "four"] {
            assert_eq!(buffer.pop().unwrap(), expected);
        }
        assert_eq!(buffer.pop(), None);
        assert_eq!(buffer.bytes(), 0);
    }

    #[test]
    fn is_congested_from_256_kibibytes_on() {
        assert!(!buffer_with(256 * 1024 - 1).is_congested());
        let mut buffer = buffer_with(256 * 1024);
        assert!(buffer.is_congested());
        buffer.pop();
        assert!(!buffer.is_congested());
    }

    #[test]
    fn has_room_below_64_kibibytes() {
        assert!(FrameBuffer::default().has_room());
        assert!(buffer_with(64 * 1024 - 1).has_room());
        assert!(!buffer_with(64 * 1024).has_room());
    }

    #[test]
    fn rejects_a_frame_above_one_mebibyte_and_keeps_the_others() {
        let mut buffer = buffer_with(1024 * 1024 - 2);
        buffer.push(frame(2)).unwrap();
        assert_eq!(buffer.push(frame(1)), Err(SendQueueFull));
        assert_eq!(buffer.bytes(), 1024 * 1024);
        buffer.pop();
        assert_eq!(buffer.pop().unwrap(), "xx");
        assert_eq!(buffer.pop(), None);
    }

    #[test]
    fn an_empty_buffer_accepts_a_frame_of_any_size() {
        let mut buffer = buffer_with(2 * 1024 * 1024);
        assert_eq!(buffer.push(frame(1)), Err(SendQueueFull));
        buffer.pop();
        buffer.push(frame(1)).unwrap();
    }

    #[test]
    fn an_empty_buffer_allocates_nothing() {
        let mut buffer = FrameBuffer::default();
        assert_eq!(buffer.frames.capacity(), 0);
        for _ in 0..1_000 {
            buffer.push(frame(1)).unwrap();
        }
        assert!(buffer.frames.capacity() >= 1_000);
        while buffer.pop().is_some() {}
        assert_eq!(buffer.frames.capacity(), 0);
    }

    #[test]
    fn a_frame_is_shared_with_other_buffers() {
        let shared = frame(100);
        let mut first = FrameBuffer::default();
        let mut second = FrameBuffer::default();
        first.push(shared.clone()).unwrap();
        second.push(shared.clone()).unwrap();
        let address = |frame: ByteString| frame.as_bytes().as_ptr();
        assert_eq!(first.pop().map(address), Some(shared.as_bytes().as_ptr()));
        assert_eq!(second.pop().map(address), Some(shared.as_bytes().as_ptr()));
    }
}
