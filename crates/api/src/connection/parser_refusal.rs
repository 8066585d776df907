//! Answers of the HTTP library to what its parser refuses.
//!
//! The library closes the connection after them, but says so only on a connection without earlier
//! requests. No handler answers 400 or 431 without a body, so these are recognised by their heads.

/// The longest head of such an answer, with room to spare.
const MOST_HEAD_BYTES: usize = 256;
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// Returns where in `bytes` a parser's refusal without `connection: close` begins. It is the last
/// that is written on a connection.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    if !bytes.ends_with(END) {
        return None;
    }
    let window = bytes.len().saturating_sub(MOST_HEAD_BYTES);
    let starts = bytes[window..].windows(7).rposition(|it| it == b"HTTP/1.");
    let start = window + starts?;
    let head = &bytes[start..bytes.len() - END.len()];
    is_refusal(head).then_some(start)
}

fn is_refusal(head: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(head) else {
        return false;
    };
    let (status_line, headers) = text.split_once("\r\n").unwrap_or_default();
    let status = status_line.split(' ').nth(1).unwrap_or_default();
    let has = |header: &str| headers.split("\r\n").any(|line| line == header);
    // Two ends in it: the head of another answer before its body.
    !text.contains("\r\n\r\n")
        && matches!(status, "400" | "431")
        && has("content-length: 0")
        && !has("connection: close")
}

/// The same refusal, which says that the connection is closed after it.
pub(super) fn closing(refusal: &[u8]) -> Vec<u8> {
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
    fn finds_a_refusal_behind_other_answers() {
        let before = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(find(REFUSAL), Some(0));
        assert_eq!(find(&[before, REFUSAL].concat()), Some(before.len()));
        let too_large =
            b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(find(too_large), Some(0));
    }

    #[test]
    fn leaves_every_other_answer_as_it_is() {
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
    fn says_that_the_connection_is_closed() {
        let kept =
            b"HTTP/1.0 400 Bad Request\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(
            closing(kept),
            b"HTTP/1.0 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
    }
}
