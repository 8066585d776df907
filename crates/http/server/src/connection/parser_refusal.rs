//! Responses of the HTTP library to requests that its parser rejects.
//!
//! The library closes the connection after them, but sends `connection: close` only if there was no
//! earlier request. No handler responds with 400 or 431 without a body, so these responses are
//! recognised by their heads.

/// The maximum size in bytes of the head of such a response, with room to spare.
const MAX_HEAD_BYTES: usize = 256;
/// The end of a head.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Returns the start of a parser's refusal without `connection: close` in `bytes`. It is the last
/// response on a connection.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    if !bytes.ends_with(HEAD_END) {
        return None;
    }
    let window = bytes.len().saturating_sub(MAX_HEAD_BYTES);
    let starts = bytes[window..].windows(7).rposition(|it| it == b"HTTP/1.");
    let start = window + starts?;
    let head = &bytes[start..bytes.len() - HEAD_END.len()];
    is_refusal(head).then_some(start)
}

fn is_refusal(head: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(head) else {
        return false;
    };
    let (status_line, headers) = text.split_once("\r\n").unwrap_or_default();
    let status = status_line.split(' ').nth(1).unwrap_or_default();
    let has = |header: &str| headers.split("\r\n").any(|line| line == header);
    // With two ends of a head in it, this is the head of another response before its body.
    !text.contains("\r\n\r\n")
        && matches!(status, "400" | "431")
        && has("content-length: 0")
        && !has("connection: close")
}

/// Returns the refusal with the header `connection: close`.
pub(super) fn with_close(refusal: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(refusal);
    let lines = text
        .split("\r\n")
        .filter(|line| !line.starts_with("connection: "));
    let mut closing: Vec<&str> = lines.collect();
    closing.insert(1, "connection: close");
    closing.join("\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSAL: &[u8] =
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Mon, 23 Nov 2026 01:29:14 GMT\r\n\r\n";

    #[test]
    fn a_refusal_is_found_after_other_responses() {
        let before = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(find(REFUSAL), Some(0));
        assert_eq!(find(&[before, REFUSAL].concat()), Some(before.len()));
        let too_large =
            b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(find(too_large), Some(0));
    }

    #[test]
    fn other_responses_are_not_changed() {
        for other in [
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                .as_slice(),
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 20\r\n\r\n",
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"0\r\n\r\n",
            b"",
        ] {
            assert_eq!(find(other), None, "{}", String::from_utf8_lossy(other));
        }
        assert_eq!(find(&REFUSAL[..REFUSAL.len() - 1]), None);
    }

    #[test]
    fn the_refusal_announces_the_close() {
        let kept =
            b"HTTP/1.0 400 Bad Request\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(
            with_close(kept),
            b"HTTP/1.0 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
    }
}
