//! What waits to be sent on one connection.

use std::collections::VecDeque;

use bytestring::ByteString;
use thiserror::Error;

/// Above this the client is too slow.
const MOST_BYTES: usize = 1024 * 1024;
/// From here on what can be told later in one snapshot is left out.
const CONGESTED_BYTES: usize = 256 * 1024;
/// Below this a replay goes on.
const ROOM_BYTES: usize = 64 * 1024;

/// More waits than a connection may hold: the client reads too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("more waits to be sent than a connection may hold")]
pub struct Overfull;

/// Text frames in the order in which they are sent. They are counted in bytes, for their number says
/// nothing of the memory that they take. An empty outbox holds none: most sockets are idle.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<ByteString>,
    bytes: usize,
}

impl Outbox {
    /// Queues a frame, or nothing when it would be above 1 MiB with those before it. A frame that
    /// finds nothing before it is taken whatever its size: no client is slow that has got
    /// everything.
    pub fn push(&mut self, frame: ByteString) -> Result<(), Overfull> {
        let bytes = self.bytes + frame.len();
        if bytes > MOST_BYTES && !self.frames.is_empty() {
            return Err(Overfull);
        }
        self.bytes = bytes;
        self.frames.push_back(frame);
        Ok(())
    }

    /// The next frame to send.
    pub fn pop(&mut self) -> Option<ByteString> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.len();
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
        Some(frame)
    }

    /// Whether 256 KiB or more wait: then deltas are left out, and told later in one snapshot.
    pub const fn is_congested(&self) -> bool {
        self.bytes >= CONGESTED_BYTES
    }

    /// Whether less than 64 KiB wait: only then a replay goes on.
    pub const fn has_room(&self) -> bool {
        self.bytes < ROOM_BYTES
    }

    /// How many bytes wait.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: usize) -> ByteString {
        ByteString::from("x".repeat(bytes))
    }

    fn holding(bytes: usize) -> Outbox {
        let mut outbox = Outbox::default();
        outbox.push(frame(bytes)).unwrap();
        outbox
    }

    #[test]
    fn gives_frames_in_the_order_in_which_they_came() {
        let mut outbox = Outbox::default();
        for text in ["one", "two", "three"] {
            outbox.push(ByteString::from_static(text)).unwrap();
        }
        assert_eq!(outbox.bytes(), 11);
        assert_eq!(outbox.pop().unwrap(), "one");
        assert_eq!(outbox.bytes(), 8);
        outbox.push(ByteString::from_static("four")).unwrap();
        for expected in ["two", "three", "four"] {
            assert_eq!(outbox.pop().unwrap(), expected);
        }
        assert_eq!(outbox.pop(), None);
        assert_eq!(outbox.bytes(), 0);
    }

    #[test]
    fn is_congested_from_256_kibibytes_on() {
        assert!(!holding(256 * 1024 - 1).is_congested());
        let mut outbox = holding(256 * 1024);
        assert!(outbox.is_congested());
        outbox.pop();
        assert!(!outbox.is_congested());
    }

    #[test]
    fn has_room_below_64_kibibytes() {
        assert!(Outbox::default().has_room());
        assert!(holding(64 * 1024 - 1).has_room());
        assert!(!holding(64 * 1024).has_room());
    }

    #[test]
    fn refuses_what_would_be_above_a_mebibyte_and_keeps_the_rest() {
        let mut outbox = holding(1024 * 1024 - 2);
        outbox.push(frame(2)).unwrap();
        assert_eq!(outbox.push(frame(1)), Err(Overfull));
        assert_eq!(outbox.bytes(), 1024 * 1024);
        outbox.pop();
        assert_eq!(outbox.pop().unwrap(), "xx");
        assert_eq!(outbox.pop(), None);
    }

    #[test]
    fn takes_a_frame_of_any_size_while_nothing_waits() {
        let mut outbox = holding(2 * 1024 * 1024);
        assert_eq!(outbox.push(frame(1)), Err(Overfull));
        outbox.pop();
        outbox.push(frame(1)).unwrap();
    }

    #[test]
    fn holds_no_memory_once_it_is_empty_again() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.frames.capacity(), 0);
        for _ in 0..1_000 {
            outbox.push(frame(1)).unwrap();
        }
        assert!(outbox.frames.capacity() >= 1_000);
        while outbox.pop().is_some() {}
        assert_eq!(outbox.frames.capacity(), 0);
    }

    #[test]
    fn shares_a_frame_with_other_outboxes() {
        let shared = frame(100);
        let mut first = Outbox::default();
        let mut second = Outbox::default();
        first.push(shared.clone()).unwrap();
        second.push(shared.clone()).unwrap();
        let place = |frame: ByteString| frame.as_bytes().as_ptr();
        assert_eq!(first.pop().map(place), Some(shared.as_bytes().as_ptr()));
        assert_eq!(second.pop().map(place), Some(shared.as_bytes().as_ptr()));
    }
}
