//! The send queue of a socket: connects the socket's task with its HTTP response body.

use std::{
    cell::{RefCell, RefMut},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use actix_web::{
    Error,
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};
use actix_ws::CloseReason;
use bytestring::ByteString;
use tokio::{sync::Notify, time::Instant};

use self::frame_buffer::FrameBuffer;
pub use self::frame_buffer::SendQueueFull;
use self::state::{End, QueueState};

mod frame_buffer;
mod state;
#[cfg(test)]
mod tests;

/// The sending side of a socket's task. The connection takes queued bytes only after the client has
/// read the earlier ones, so the queue counts all unread bytes.
pub struct SendQueue {
    shared: Rc<Shared>,
    /// `actix-ws` treats the drop of its own body as the end of the connection.
    _replaced: BoxBody,
}

struct Shared {
    state: RefCell<QueueState>,
    /// Notifies the task when the queue has room again or the connection is closed.
    changed: Notify,
}

/// The response body of an upgrade. It ends with the socket's task: until then the connection
/// passes on what the client sends, such as the answer to a close.
pub struct SendQueueBody(Rc<Shared>);

/// Creates a send queue and its response body; `replaced` is the body that `actix-ws` made.
pub fn send_queue(replaced: BoxBody) -> (SendQueue, SendQueueBody) {
    let shared = Rc::new(Shared {
        state: RefCell::default(),
        changed: Notify::new(),
    });
    let body = SendQueueBody(Rc::clone(&shared));
    let send_queue = SendQueue {
        shared,
        _replaced: replaced,
    };
    (send_queue, body)
}

impl SendQueue {
    /// Queues a text frame; fails if the client reads too slowly.
    pub fn push(&self, frame: ByteString) -> Result<(), SendQueueFull> {
        let mut state = self.state();
        state.frames.push(frame)?;
        state.stalled_since.get_or_insert_with(Instant::now);
        state.wake();
        Ok(())
    }

    /// Queues a text frame of any size, for a caller that has requested room and received it.
    pub fn push_any(&self, frame: ByteString) {
        let mut state = self.state();
        state.frames.add(frame);
        state.stalled_since.get_or_insert_with(Instant::now);
        state.wake();
    }

    /// Sends a protocol ping.
    pub fn ping(&self) {
        let mut state = self.state();
        state.is_ping_due = true;
        state.wake();
    }

    /// Answers a protocol ping. Of several unanswered pings only the last one is answered.
    pub fn pong(&self, payload: Bytes) {
        let mut state = self.state();
        state.pong = Some(payload);
        state.wake();
    }

    /// Sends a close frame after the queued frames, and nothing after it.
    pub fn close(&self, reason: Option<CloseReason>) {
        let mut state = self.state();
        if matches!(state.end, End::Open) {
            state.end = End::Closing(reason);
        }
        state.wake();
    }

    /// Drops the queued frames: the client does not read them.
    pub fn clear(&self) {
        let mut state = self.state();
        state.frames = FrameBuffer::default();
        state.stalled_since = None;
    }

    /// The time since which the connection has taken no queued frame; `None` if the queue is empty.
    pub fn stalled_since(&self) -> Option<Instant> {
        self.state().stalled_since
    }

    /// Returns whether live data is to be left out for now.
    pub fn is_congested(&self) -> bool {
        self.state().frames.is_congested()
    }

    /// Requests room for more events. Returns whether the queue has it now; if not,
    /// [`Self::changed`] wakes when it has.
    pub fn request_room(&self) -> bool {
        let mut state = self.state();
        let has_room = state.frames.has_room();
        state.wakes_on.room = !has_room;
        has_room
    }

    /// Requests an empty queue, which accepts a frame of any size. Returns whether it is empty now;
    /// if not, [`Self::changed`] wakes when it is.
    pub fn request_empty(&self) -> bool {
        let mut state = self.state();
        let is_empty = state.frames.bytes() == 0;
        state.wakes_on.empty = !is_empty;
        is_empty
    }

    /// Returns whether the connection is closed.
    pub fn is_disconnected(&self) -> bool {
        Rc::strong_count(&self.shared) == 1
    }

    /// Waits until the requested room is available, or the connection is closed.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    fn state(&self) -> RefMut<'_, QueueState> {
        self.shared.state.borrow_mut()
    }
}

impl Drop for SendQueue {
    fn drop(&mut self) {
        let mut state = self.state();
        if matches!(state.end, End::Open) {
            state.end = End::Closed;
        }
        state.is_dropped = true;
        state.wake();
    }
}

impl MessageBody for SendQueueBody {
    type Error = Error;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        let mut state = self.0.state.borrow_mut();
        let chunk = state.next_chunk();
        if state.is_wakeup_due() {
            self.0.changed.notify_one();
        }
        if !matches!(&state.connection, Some(known) if known.will_wake(context.waker())) {
            state.connection = Some(context.waker().clone());
        }
        match (&state.end, chunk.is_empty()) {
            (_, false) => Poll::Ready(Some(Ok(chunk))),
            (End::Closed, true) if state.is_dropped => Poll::Ready(None),
            (_, true) => Poll::Pending,
        }
    }
}

impl Drop for SendQueueBody {
    fn drop(&mut self) {
        self.0.changed.notify_one();
    }
}
