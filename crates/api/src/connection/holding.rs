//! Answers that hold something until they are written, or given up.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    dev::ServiceResponse,
    web::Bytes,
};

use super::Progress;

/// An answer's body, and what is dropped with it.
struct Holding<T> {
    answer: BoxBody,
    _held: T,
}

impl<T: Unpin> MessageBody for Holding<T> {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.answer.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.answer).poll_next(context)
    }
}

/// Lets an answer hold something until it is written, or given up.
pub fn hold<T: Unpin + 'static>(response: ServiceResponse, held: T) -> ServiceResponse {
    response.map_body(|_, answer| {
        BoxBody::new(Holding {
            answer,
            _held: held,
        })
    })
}

/// Notes that a request is answered when it is dropped.
struct Answering(Progress);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Progress {
    /// Notes that a request is answered when its answer is: at once, unless it is a stream.
    pub fn end_with(self, response: ServiceResponse) -> ServiceResponse {
        if response.response().body().size() == BodySize::Stream {
            return hold(response, Answering(self));
        }
        self.end();
        response
    }
}
