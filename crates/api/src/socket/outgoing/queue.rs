//! What waits to be sent on one connection, in the order in which it is sent.

use std::task::Waker;

use actix_http::ws::{OpCode, Parser};
use actix_web::web::{Bytes, BytesMut};
use actix_ws::CloseReason;
use tokio::time::Instant;

use crate::socket::outbox::Outbox;

/// Frames are handed on together up to so many bytes: many small ones are one write.
pub(super) const CHUNK_BYTES: usize = 16 * 1024;

/// What waits to be sent on one connection, and who waits for what of it.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) outbox: Outbox,
    pub(super) is_ping_due: bool,
    pub(super) pong: Option<Bytes>,
    /// Since when nothing was taken though something waits.
    pub(super) stuck_since: Option<Instant>,
    pub(super) end: End,
    /// Whether the task has ended.
    pub(super) is_over: bool,
    pub(super) wants: Wants,
    /// The connection's task.
    pub(super) connection: Option<Waker>,
}

/// What the task waits for.
#[derive(Default)]
pub(super) struct Wants {
    /// That there is room.
    pub(super) room: bool,
    /// That nothing waits.
    pub(super) drained: bool,
}

/// Whether there is more to come.
#[derive(Default)]
pub(super) enum End {
    #[default]
    Open,
    /// The close frame follows what waits.
    Closing(Option<CloseReason>),
    /// Nothing is sent any more.
    Closed,
}

impl Queue {
    /// Lets the connection look for what is to be sent.
    pub(super) fn wake(&self) {
        if let Some(connection) = &self.connection {
            connection.wake_by_ref();
        }
    }

    /// Whether the task has waited for what is so now.
    pub(super) fn is_wakeup_due(&mut self) -> bool {
        let has_room = self.wants.room && self.outbox.has_room();
        let is_drained = self.wants.drained && self.outbox.bytes() == 0;
        self.wants.room &= !has_room;
        self.wants.drained &= !is_drained;
        has_room || is_drained
    }

    /// The next bytes, if any wait.
    pub(super) fn take(&mut self) -> Bytes {
        let mut chunk = BytesMut::new();
        if std::mem::take(&mut self.is_ping_due) {
            Parser::write_message(&mut chunk, [], OpCode::Ping, true, false);
        }
        if let Some(payload) = self.pong.take() {
            Parser::write_message(&mut chunk, payload, OpCode::Pong, true, false);
        }
        while chunk.len() < CHUNK_BYTES
            && let Some(frame) = self.outbox.pop()
        {
            Parser::write_message(&mut chunk, frame.into_bytes(), OpCode::Text, true, false);
            let is_more = self.outbox.bytes() > 0;
            self.stuck_since = is_more.then(Instant::now);
        }
        if self.outbox.bytes() == 0
            && let End::Closing(reason) = &mut self.end
        {
            let reason = reason.take();
            self.end = End::Closed;
            Parser::write_close(&mut chunk, reason, false);
        }
        chunk.freeze()
    }
}
