//! Responses that hold a value until they are sent or dropped.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    dev::ServiceResponse,
    web::Bytes,
};

use super::ConnectionState;

/// The body of a response, and a value that is dropped with it.
struct GuardedBody<T> {
    body: BoxBody,
    _value: T,
}

impl<T: Unpin> MessageBody for GuardedBody<T> {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

/// Lets a response hold a value until it is sent or dropped.
pub fn hold_until_sent<T: Unpin + 'static>(response: ServiceResponse, value: T) -> ServiceResponse {
    response.map_body(|_, body| {
        BoxBody::new(GuardedBody {
            body,
            _value: value,
        })
    })
}

/// Records the end of a request when it is dropped.
struct EndRequestOnDrop(ConnectionState);

impl Drop for EndRequestOnDrop {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

impl ConnectionState {
    /// Records the end of a request when its response ends: at once, unless it is a stream.
    pub fn end_request_with(self, response: ServiceResponse) -> ServiceResponse {
        if response.response().body().size() == BodySize::Stream {
            return hold_until_sent(response, EndRequestOnDrop(self));
        }
        self.end_request();
        response
    }
}
