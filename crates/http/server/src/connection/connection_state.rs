//! The state that a connection shares with its requests.

use std::{
    cell::Cell,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use actix_web::HttpRequest;
use tokio::time::Instant;

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for its first request.
    FirstRequest,
    /// The body of a request is being read.
    ReceivingBody,
    /// A request is being processed, and nothing more is needed from the client.
    Serving,
    /// It uses another protocol, such as WebSocket.
    Upgraded,
    /// It waits for the next request.
    Idle,
    /// The last bytes have been queued for writing.
    Closing,
    /// Both sides have announced the end.
    Closed,
}

/// The state of a connection, shared by the connection and its requests.
#[derive(Clone)]
pub struct ConnectionState(Rc<Shared>);

struct Shared {
    phase: Cell<Phase>,
    /// The number of requests so far: a request may be answered between two reads.
    request_count: Cell<u64>,
    /// The bytes of the current body that have not been read. The library may have read some before it was declared.
    body_left: Cell<u64>,
    /// The time at which the system last accepted bytes for a client of another protocol.
    last_write_at: Cell<Option<Instant>>,
    /// True when the client has closed its side.
    is_client_closed: Cell<bool>,
    /// The task that waits for the client to close its side.
    close_waker: Cell<Option<Waker>>,
    /// The task that continues reading when reading is resumed.
    read_waker: Cell<Option<Waker>>,
}

impl ConnectionState {
    /// Returns the state of a request's connection.
    pub fn of(request: &HttpRequest) -> Self {
        let state = request.conn_data::<Self>().cloned();
        state.unwrap_or_else(Self::new)
    }

    pub(super) fn new() -> Self {
        Self(Rc::new(Shared {
            phase: Cell::new(Phase::FirstRequest),
            request_count: Cell::new(0),
            body_left: Cell::new(0),
            last_write_at: Cell::new(None),
            is_client_closed: Cell::new(false),
            close_waker: Cell::new(None),
            read_waker: Cell::new(None),
        }))
    }

    /// Records that a request's head is complete, and whether a body follows.
    pub fn begin_request(&self, has_body: bool) {
        self.0.phase.set(if has_body {
            Phase::ReceivingBody
        } else {
            Phase::Serving
        });
        self.0.request_count.set(self.0.request_count.get() + 1);
        self.0.body_left.set(0);
    }

    /// Records the length of the current body.
    pub fn declare_body(&self, length: u64) {
        self.0.body_left.set(length);
    }

    /// Returns how many bytes of a body have not been read, or at most a portion more.
    pub(super) fn body_left(&self) -> u64 {
        match self.phase() {
            Phase::ReceivingBody => self.0.body_left.get(),
            _ => 0,
        }
    }

    /// Records that bytes of the client were read.
    pub(super) fn record_read(&self, bytes: usize) {
        let left = self.0.body_left.get().saturating_sub(bytes as u64);
        self.0.body_left.set(left);
    }

    /// Records that the whole request has been received.
    pub fn body_received(&self) {
        self.0.phase.set(Phase::Serving);
    }

    /// Records that the connection switches to another protocol.
    pub fn switch_protocol(&self) {
        self.0.phase.set(Phase::Upgraded);
        self.resume_reading();
    }

    /// Waits until the client has closed its side. The client may still read, so a finite response
    /// is not interrupted, but nothing else would ever end an endless stream.
    pub fn client_closed(&self) -> impl Future<Output = ()> + use<> {
        let shared = Rc::clone(&self.0);
        poll_fn(move |context| {
            if shared.is_client_closed.get() {
                return Poll::Ready(());
            }
            shared.close_waker.set(Some(context.waker().clone()));
            Poll::Pending
        })
    }

    /// Records that a request is answered, and the next one may follow.
    pub fn end_request(&self) {
        self.0.phase.set(Phase::Idle);
        self.resume_reading();
    }

    /// Records that nothing more will be written. A client that does not accept the pending bytes
    /// in time is disconnected.
    pub fn begin_closing(&self) {
        self.0.phase.set(Phase::Closing);
    }

    /// Records that the client has ended too, so nothing more is read from it. The connection
    /// notices when it is polled the next time.
    pub fn close_read(&self) {
        self.0.phase.set(Phase::Closed);
    }

    /// Records that the system took bytes for the client.
    pub(super) fn record_write(&self) {
        if self.phase() == Phase::Upgraded {
            self.0.last_write_at.set(Some(Instant::now()));
        }
    }

    /// Returns the time at which the system last accepted bytes for a client of another protocol.
    /// The system accepts bytes soon after the client has read as many.
    pub fn last_write_at(&self) -> Option<Instant> {
        self.0.last_write_at.get()
    }

    /// Records that the client sends nothing more.
    pub(super) fn mark_client_closed(&self) {
        self.0.is_client_closed.set(true);
        if let Some(close_waker) = self.0.close_waker.take() {
            close_waker.wake();
        }
    }

    /// Records that more data has arrived, which will be read later.
    pub(super) fn pause_reading(&self, context: &Context<'_>) {
        self.0.read_waker.set(Some(context.waker().clone()));
    }

    /// Resumes paused reading.
    pub(super) fn resume_reading(&self) {
        if let Some(read_waker) = self.0.read_waker.take() {
            read_waker.wake();
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.0.phase.get()
    }

    /// Returns the number of requests so far.
    pub(super) fn request_count(&self) -> u64 {
        self.0.request_count.get()
    }

    /// Returns true when nothing more will be written.
    pub(super) fn is_closing(&self) -> bool {
        matches!(self.phase(), Phase::Closing | Phase::Closed)
    }
}
