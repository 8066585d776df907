//! What is left of a refused request's body.
//!
//! The HTTP library reads on and on where nobody holds the rest of a chunked body any more: a
//! client that never ends would keep its connection for ever. While the rest is held until the
//! answer is written, it hangs up after the answer.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use actix_web::{
    HttpMessage as _,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Payload, ServiceResponse},
    web::Bytes,
};

/// The rest of a request's body, on its way from the refusal to the answer.
pub(super) struct Unread(pub(super) Payload);

/// An answer's body that holds the rest of the request's.
struct Holding {
    answer: BoxBody,
    _unread: Payload,
}

impl MessageBody for Holding {
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

/// Lets the answer to a refused request hold what is left of the request's body.
pub(super) fn hold(response: ServiceResponse) -> ServiceResponse {
    let unread = response.request().extensions_mut().remove::<Unread>();
    match unread {
        None => response,
        Some(unread) => response.map_body(|_, answer| {
            BoxBody::new(Holding {
                answer,
                _unread: unread.0,
            })
        }),
    }
}
