//! From what waits to be sent to the bytes on the connection.

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

use self::queue::{End, Queue};
use super::outbox::{Outbox, Overfull};

mod queue;
#[cfg(test)]
mod tests;

/// What a socket's task sends. The connection takes it when its client has read what was sent
/// before, so that all that waits is counted here, in bytes.
pub struct Outgoing {
    shared: Rc<Shared>,
    /// `actix-ws` takes the end of its own body for the end of the connection.
    _replaced: BoxBody,
}

struct Shared {
    queue: RefCell<Queue>,
    /// Tells the task that there is room again, or that the connection has gone.
    moved: Notify,
}

/// The body of the answer to an upgrade. It ends with the socket's task: until then the connection
/// hands on what the client sends, which may be the answer to a close.
pub struct OutgoingBody(Rc<Shared>);

/// A socket's two ends of what it sends; `replaced` is the body that `actix-ws` made.
pub fn outgoing(replaced: BoxBody) -> (Outgoing, OutgoingBody) {
    let shared = Rc::new(Shared {
        queue: RefCell::default(),
        moved: Notify::new(),
    });
    let body = OutgoingBody(Rc::clone(&shared));
    let outgoing = Outgoing {
        shared,
        _replaced: replaced,
    };
    (outgoing, body)
}

impl Outgoing {
    /// Sends a text frame, unless the client reads too slowly for one more.
    pub fn push(&self, frame: ByteString) -> Result<(), Overfull> {
        let mut queue = self.queue();
        queue.outbox.push(frame)?;
        queue.stuck_since.get_or_insert_with(Instant::now);
        queue.wake();
        Ok(())
    }

    /// Sends a ping of the protocol.
    pub fn ping(&self) {
        let mut queue = self.queue();
        queue.is_ping_due = true;
        queue.wake();
    }

    /// Answers a ping of the protocol; of several only the last one that is not answered yet.
    pub fn pong(&self, payload: Bytes) {
        let mut queue = self.queue();
        queue.pong = Some(payload);
        queue.wake();
    }

    /// Sends a close frame behind what waits, and nothing after it.
    pub fn close(&self, reason: Option<CloseReason>) {
        let mut queue = self.queue();
        if matches!(queue.end, End::Open) {
            queue.end = End::Closing(reason);
        }
        queue.wake();
    }

    /// Drops what waits: the client does not read it.
    pub fn clear(&self) {
        let mut queue = self.queue();
        queue.outbox = Outbox::default();
        queue.stuck_since = None;
    }

    /// Since when nothing was taken of what waits.
    pub fn stuck_since(&self) -> Option<Instant> {
        self.queue().stuck_since
    }

    /// Whether so much waits that what can be told later is left out.
    pub fn is_congested(&self) -> bool {
        self.queue().outbox.is_congested()
    }

    /// Whether so little waits that more can be fetched. If not, [`Self::moved`] tells when there
    /// is room.
    pub fn has_room_or_notifies(&self) -> bool {
        let mut queue = self.queue();
        let has_room = queue.outbox.has_room();
        queue.wants.room = !has_room;
        has_room
    }

    /// Whether nothing waits, so that a frame of any size is taken. If something does,
    /// [`Self::moved`] tells when nothing does.
    pub fn is_drained_or_notifies(&self) -> bool {
        let mut queue = self.queue();
        let is_drained = queue.outbox.bytes() == 0;
        queue.wants.drained = !is_drained;
        is_drained
    }

    /// Whether the connection has gone.
    pub fn is_gone(&self) -> bool {
        Rc::strong_count(&self.shared) == 1
    }

    /// Waits until there is room again, or the connection has gone.
    pub async fn moved(&self) {
        self.shared.moved.notified().await;
    }

    fn queue(&self) -> RefMut<'_, Queue> {
        self.shared.queue.borrow_mut()
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let mut queue = self.queue();
        if matches!(queue.end, End::Open) {
            queue.end = End::Closed;
        }
        queue.is_over = true;
        queue.wake();
    }
}

impl MessageBody for OutgoingBody {
    type Error = Error;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        let mut queue = self.0.queue.borrow_mut();
        let chunk = queue.take();
        if queue.is_wakeup_due() {
            self.0.moved.notify_one();
        }
        if !matches!(&queue.connection, Some(known) if known.will_wake(context.waker())) {
            queue.connection = Some(context.waker().clone());
        }
        match (&queue.end, chunk.is_empty()) {
            (_, false) => Poll::Ready(Some(Ok(chunk))),
            (End::Closed, true) if queue.is_over => Poll::Ready(None),
            (_, true) => Poll::Pending,
        }
    }
}

impl Drop for OutgoingBody {
    fn drop(&mut self) {
        self.0.moved.notify_one();
    }
}
