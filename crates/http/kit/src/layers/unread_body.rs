//! The unread rest of a rejected request's body.
//!
//! The HTTP library keeps reading a chunked body that nothing holds any more, so a client that
//! never ends its body would keep its connection forever. While the rest is held until the response
//! is sent, the library closes the connection after the response.

use actix_web::{
    HttpMessage as _,
    dev::{Payload, ServiceResponse},
};
use server::hold_until_sent;

/// The rest of a request's body, from the rejection to the response.
pub(crate) struct UnreadBody(pub(crate) Payload);

/// Keeps the rest of a rejected request's body until the response is sent.
pub(super) fn hold_unread_body(response: ServiceResponse) -> ServiceResponse {
    let unread_body = response.request().extensions_mut().remove::<UnreadBody>();
    match unread_body {
        None => response,
        Some(unread_body) => hold_until_sent(response, unread_body.0),
    }
}
