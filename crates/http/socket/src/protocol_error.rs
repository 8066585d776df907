//! Maps WebSocket protocol errors of clients to close codes.

use std::io::{self, ErrorKind};

use actix_web::error::PayloadError;
use actix_ws::ProtocolError;

use super::close::CloseCode;

/// The close code for a protocol error; `None` if the connection is closed already. Every protocol
/// error ends its socket: the stream is not reliable after one.
pub fn close_code_for(error: &ProtocolError) -> Option<CloseCode> {
    match error {
        ProtocolError::Overflow => Some(CloseCode::TooLarge),
        ProtocolError::Io(error) => close_code_for_io(error),
        _ => Some(CloseCode::ProtocolError),
    }
}

/// Maps an I/O error, in which `actix-ws` and the codec wrap most protocol errors.
fn close_code_for_io(error: &io::Error) -> Option<CloseCode> {
    let inner = error.get_ref();
    if let Some(payload) = inner.and_then(|inner| inner.downcast_ref::<PayloadError>()) {
        return matches!(payload, PayloadError::Overflow).then_some(CloseCode::TooLarge);
    }
    if error.kind() != ErrorKind::InvalidData {
        // The fragments of a message exceed the maximum continuation size of `actix-ws`.
        return Some(CloseCode::TooLarge);
    }
    // Only the message of the error distinguishes invalid UTF-8 from reserved bits.
    if inner.is_some_and(|inner| inner.to_string().contains("reserved bits")) {
        return Some(CloseCode::ProtocolError);
    }
    Some(CloseCode::InvalidText)
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};

    use super::*;
    use crate::raw_client::messages_from;

    /// The close code for these bytes, read by the real codec.
    async fn close_after(received: Vec<Result<Vec<u8>, PayloadError>>) -> Option<CloseCode> {
        let received = received.into_iter().map(|chunk| chunk.map(Into::into));
        let messages = messages_from(stream::iter(received)).await;
        let mut messages = messages.aggregate_continuations().max_continuation_size(10);
        let error = loop {
            match messages.next().await.expect("an error before the end") {
                Ok(_message) => {}
                Err(error) => break error,
            }
        };
        close_code_for(&error)
    }

    /// A frame with a masking key of zeros, which does not change its payload.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[first, 0x80 | length, 0, 0, 0, 0], payload].concat()
    }

    #[actix_web::test]
    async fn protocol_violations_are_1002() {
        let unmasked = vec![0x81, 0x01, b'a'];
        let unknown_opcode = frame(0x83, b"a");
        let reserved_bits = frame(0xc1, b"a");
        let continues_nothing = frame(0x80, b"a");
        let starts_twice = [frame(0x01, b"a"), frame(0x81, b"a")].concat();
        let long_ping = [&[0x89, 0xfe, 0x00, 0x80, 0, 0, 0, 0], &[0; 128][..]].concat();
        let bad_close = frame(0x88, &1005_u16.to_be_bytes());
        for bytes in [
            unmasked,
            unknown_opcode,
            reserved_bits,
            continues_nothing,
            starts_twice,
            long_ping,
            bad_close,
        ] {
            let close = close_after(vec![Ok(bytes.clone())]).await;
            assert_eq!(close, Some(CloseCode::ProtocolError), "{bytes:x?}");
        }
    }

    #[actix_web::test]
    async fn text_that_is_not_utf_8_is_1007_in_one_frame_or_in_fragments() {
        let fragments = [frame(0x01, b"\xc3"), frame(0x80, b"\x28")].concat();
        for bytes in [frame(0x81, b"\xc3\x28"), fragments] {
            let close = close_after(vec![Ok(bytes.clone())]).await;
            assert_eq!(close, Some(CloseCode::InvalidText), "{bytes:x?}");
        }
    }

    #[actix_web::test]
    async fn oversized_frames_and_messages_are_1009() {
        let declared = vec![0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0];
        let fragments = [frame(0x01, b"123456"), frame(0x80, b"123456")].concat();
        for bytes in [declared, fragments] {
            let close = close_after(vec![Ok(bytes.clone())]).await;
            assert_eq!(close, Some(CloseCode::TooLarge), "{bytes:x?}");
        }
        let codec = close_code_for(&ProtocolError::Overflow);
        assert_eq!(codec, Some(CloseCode::TooLarge));
    }

    #[actix_web::test]
    async fn a_lost_connection_has_no_close_code() {
        let reset = io::Error::from(ErrorKind::ConnectionReset);
        for error in [PayloadError::Incomplete(None), PayloadError::Io(reset)] {
            assert_eq!(close_after(vec![Err(error)]).await, None);
        }
    }
}
