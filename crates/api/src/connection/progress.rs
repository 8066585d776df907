//! What a connection's requests tell it.

use std::{
    cell::Cell,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use actix_web::HttpRequest;
use tokio::time::Instant;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// It waits for its first request.
    First,
    /// The body of a request is taken in.
    Receiving,
    /// A request is being answered, and needs nothing more from the client.
    Serving,
    /// It speaks another protocol now.
    HandedOver,
    /// It waits for the next request.
    Waiting,
    /// It has been written its last bytes.
    Parting,
    /// Both sides have said that they are done.
    Done,
}

/// Tells a connection what its requests are doing: connection and requests share it.
#[derive(Clone)]
pub struct Progress(Rc<Shared>);

struct Shared {
    doing: Cell<Doing>,
    /// How many requests have begun: a request may be answered between two reads.
    begun: Cell<u64>,
    /// When the system last took bytes for a client that speaks another protocol.
    taken_at: Cell<Option<Instant>>,
    /// Whether the client has closed its side.
    is_left: Cell<bool>,
    /// Who waits for that.
    waiting: Cell<Option<Waker>>,
    /// Who is to read on when what the client sent is wanted.
    reader: Cell<Option<Waker>>,
}

impl Progress {
    /// That of a request's connection.
    pub fn of(request: &HttpRequest) -> Self {
        let progress = request.conn_data::<Self>().cloned();
        progress.unwrap_or_else(Self::new)
    }

    pub(super) fn new() -> Self {
        Self(Rc::new(Shared {
            doing: Cell::new(Doing::First),
            begun: Cell::new(0),
            taken_at: Cell::new(None),
            is_left: Cell::new(false),
            waiting: Cell::new(None),
            reader: Cell::new(None),
        }))
    }

    /// Notes that a request's head is complete, and whether a body follows.
    pub fn begin(&self, has_body: bool) {
        self.0.doing.set(if has_body {
            Doing::Receiving
        } else {
            Doing::Serving
        });
        self.0.begun.set(self.0.begun.get() + 1);
    }

    /// Notes that all of a request is there.
    pub fn receive(&self) {
        self.0.doing.set(Doing::Serving);
    }

    /// Notes that what comes now belongs to another protocol.
    pub fn hand_over(&self) {
        self.0.doing.set(Doing::HandedOver);
        self.go_on();
    }

    /// Waits until the client has closed its side. It may still read, so an answer is not cut for
    /// that; but a stream without end is for clients that stay, and nobody else would ever end it.
    pub fn left(&self) -> impl Future<Output = ()> + use<> {
        let shared = Rc::clone(&self.0);
        poll_fn(move |context| {
            if shared.is_left.get() {
                return Poll::Ready(());
            }
            shared.waiting.set(Some(context.waker().clone()));
            Poll::Pending
        })
    }

    /// Notes that a request is answered, and the next one may come.
    pub fn end(&self) {
        self.0.doing.set(Doing::Waiting);
        self.go_on();
    }

    /// Notes that nothing more is written behind what waits now: a client that does not take that
    /// in a while is left.
    pub fn part(&self) {
        self.0.doing.set(Doing::Parting);
    }

    /// Notes that the client is done, too: nothing more is read of it. The connection finds that
    /// out when it is woken the next time.
    pub fn hang_up(&self) {
        self.0.doing.set(Doing::Done);
    }

    /// Records that the system took bytes for the client.
    pub(super) fn record_taken(&self) {
        if self.doing() == Doing::HandedOver {
            self.0.taken_at.set(Some(Instant::now()));
        }
    }

    /// When the system last took bytes for a client that speaks another protocol. It takes them
    /// soon after the client has read as many.
    pub fn taken_at(&self) -> Option<Instant> {
        self.0.taken_at.get()
    }

    /// Notes that nothing more comes from the client.
    pub(super) fn leave(&self) {
        self.0.is_left.set(true);
        if let Some(waiting) = self.0.waiting.take() {
            waiting.wake();
        }
    }

    /// Notes that more has come, which is to be read later.
    pub(super) fn put_off(&self, context: &Context<'_>) {
        self.0.reader.set(Some(context.waker().clone()));
    }

    /// Lets what was put off be read.
    pub(super) fn go_on(&self) {
        if let Some(reader) = self.0.reader.take() {
            reader.wake();
        }
    }

    pub(super) fn doing(&self) -> Doing {
        self.0.doing.get()
    }

    /// How many requests have begun.
    pub(super) fn begun(&self) -> u64 {
        self.0.begun.get()
    }

    /// Whether nothing more is written behind what waits now.
    pub(super) fn is_parting(&self) -> bool {
        matches!(self.doing(), Doing::Parting | Doing::Done)
    }
}
