//! A test client that sends raw bytes, and the guarded socket that reads them.

use actix_http::BoxedPayloadStream;
use actix_web::{
    FromRequest as _, dev,
    error::PayloadError,
    http::header,
    test::TestRequest,
    web::{self, Bytes},
};
use actix_ws::MessageStream;
use futures::Stream;

use super::guard_payload;

/// Returns the messages that the server reads from a client that sends these bytes after its
/// upgrade.
pub(crate) async fn messages_from(
    sent: impl Stream<Item = Result<Bytes, PayloadError>> + 'static,
) -> MessageStream {
    let request = TestRequest::default()
        .insert_header((header::UPGRADE, "websocket"))
        .insert_header((header::CONNECTION, "upgrade"))
        .insert_header((header::SEC_WEBSOCKET_VERSION, "13"))
        .insert_header((header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="))
        .to_http_request();
    let sent: BoxedPayloadStream = Box::pin(sent);
    let payload = web::Payload::from_request(&request, &mut dev::Payload::from(sent));
    let payload = guard_payload(&request, payload.await.unwrap())
        .await
        .unwrap();
    let (_response, _session, messages) = actix_ws::handle(&request, payload).unwrap();
    messages
}
