//! What is left of a refused request's body.
//!
//! The HTTP library reads on and on where nobody holds the rest of a chunked body any more: a
//! client that never ends would keep its connection for ever. While the rest is held until the
//! answer is written, it hangs up after the answer.

use actix_web::{
    HttpMessage as _,
    dev::{Payload, ServiceResponse},
};

use crate::connection::hold;

/// The rest of a request's body, on its way from the refusal to the answer.
pub(super) struct Unread(pub(super) Payload);

/// Lets the answer to a refused request hold what is left of the request's body.
pub(super) fn hold_unread(response: ServiceResponse) -> ServiceResponse {
    let unread = response.request().extensions_mut().remove::<Unread>();
    match unread {
        None => response,
        Some(unread) => hold(response, unread.0),
    }
}
