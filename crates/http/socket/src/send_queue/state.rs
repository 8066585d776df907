//! The state of a send queue.

use std::task::Waker;

use actix_http::ws::{OpCode, Parser};
use actix_web::web::{Bytes, BytesMut};
use actix_ws::CloseReason;
use tokio::time::Instant;

use super::frame_buffer::FrameBuffer;

/// The size up to which frames are combined into one write, in bytes.
pub(super) const CHUNK_BYTES: usize = 16 * 1024;

/// The state of a send queue.
#[derive(Default)]
pub(super) struct QueueState {
    pub(super) frames: FrameBuffer,
    pub(super) is_ping_due: bool,
    pub(super) pong: Option<Bytes>,
    /// The time since which frames wait and none was taken.
    pub(super) stalled_since: Option<Instant>,
    pub(super) end: End,
    /// True if the socket's task has ended.
    pub(super) is_dropped: bool,
    pub(super) wakes_on: WakeConditions,
    /// The connection's task.
    pub(super) connection: Option<Waker>,
}

/// The changes that wake the socket's task.
#[derive(Default)]
pub(super) struct WakeConditions {
    /// The queue has room again.
    pub(super) room: bool,
    /// The queue is empty.
    pub(super) empty: bool,
}

/// The progress of closing.
#[derive(Default)]
pub(super) enum End {
    #[default]
    Open,
    /// The close frame follows the queued frames.
    Closing(Option<CloseReason>),
    /// The close frame was taken.
    Closed,
}

impl QueueState {
    /// Wakes the connection's task.
    pub(super) fn wake(&self) {
        if let Some(connection) = &self.connection {
            connection.wake_by_ref();
        }
    }

    /// Returns whether a change that the task waits for has happened, and resets it.
    pub(super) fn is_wakeup_due(&mut self) -> bool {
        let has_room = self.wakes_on.room && self.frames.has_room();
        let is_empty = self.wakes_on.empty && self.frames.bytes() == 0;
        self.wakes_on.room &= !has_room;
        self.wakes_on.empty &= !is_empty;
        has_room || is_empty
    }

    /// Takes the next bytes to write; empty if nothing waits.
    pub(super) fn next_chunk(&mut self) -> Bytes {
        let mut chunk = BytesMut::new();
        if std::mem::take(&mut self.is_ping_due) {
            Parser::write_message(&mut chunk, [], OpCode::Ping, true, false);
        }
        if let Some(payload) = self.pong.take() {
            Parser::write_message(&mut chunk, payload, OpCode::Pong, true, false);
        }
        while chunk.len() < CHUNK_BYTES
            && let Some(frame) = self.frames.pop()
        {
            Parser::write_message(&mut chunk, frame.into_bytes(), OpCode::Text, true, false);
            let is_more = self.frames.bytes() > 0;
            self.stalled_since = is_more.then(Instant::now);
        }
        if self.frames.bytes() == 0
            && let End::Closing(reason) = &mut self.end
        {
            let reason = reason.take();
            self.end = End::Closed;
            Parser::write_close(&mut chunk, reason, false);
        }
        chunk.freeze()
    }
}
