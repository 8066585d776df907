//! The frames of one request, from the future that answers it to the socket.

use std::{cell::RefCell, future::poll_fn, rc::Rc, task::Poll};

use bytestring::ByteString;
use futures::{Stream, stream};

/// Takes the frames of one request, one at a time: a request whose frames are not sent waits.
#[derive(Clone, Default)]
pub(super) struct Outlet(Rc<RefCell<Option<ByteString>>>);

impl Outlet {
    /// Passes on a frame, and waits until it was taken.
    pub(super) async fn push(&self, frame: ByteString) {
        *self.0.borrow_mut() = Some(frame);
        // Polled again when the next frame is requested.
        poll_fn(|_| match *self.0.borrow() {
            None => Poll::Ready(()),
            Some(_) => Poll::Pending,
        })
        .await;
    }

    /// Returns the frames that `answering` passes on, until it ends.
    pub(super) fn frames(
        self,
        answering: impl Future<Output = ()>,
    ) -> impl Stream<Item = ByteString> {
        let mut answering = Box::pin(answering);
        let mut is_answered = false;
        stream::poll_fn(move |context| {
            if !is_answered {
                is_answered = answering.as_mut().poll(context).is_ready();
            }
            match self.0.take() {
                Some(frame) => Poll::Ready(Some(frame)),
                None if is_answered => Poll::Ready(None),
                None => Poll::Pending,
            }
        })
    }
}
