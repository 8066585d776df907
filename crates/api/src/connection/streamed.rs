//! Answers that take their time.

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

/// A stream that tells its connection when it is over.
struct Streamed {
    stream: BoxBody,
    connection: Progress,
}

impl Drop for Streamed {
    fn drop(&mut self) {
        self.connection.end();
    }
}

impl MessageBody for Streamed {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.stream.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.stream).poll_next(context)
    }
}

impl Progress {
    /// Notes that a request is answered when its answer is: at once, unless it is a stream.
    pub fn end_with(self, response: ServiceResponse) -> ServiceResponse {
        if response.response().body().size() != BodySize::Stream {
            self.end();
            return response;
        }
        response.map_body(|_, stream| {
            let connection = self;
            BoxBody::new(Streamed { stream, connection })
        })
    }
}
