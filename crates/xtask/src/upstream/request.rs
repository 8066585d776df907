//! What is asked.

use anyhow::{Context as _, Result, bail};

/// Longer requests are nobody's.
const LONGEST: usize = 4 * 1024 * 1024;

/// What must be known of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) is_chat: bool,
    pub(super) path: String,
    /// Its length, head and body.
    pub(super) bytes: usize,
    /// Whether the answer is wanted word by word.
    pub(super) is_streamed: bool,
}

impl Request {
    /// Reads a request; `None` when its end has not arrived yet.
    pub(super) fn parse(received: &[u8]) -> Result<Option<Self>> {
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&received[..end]).context("a head is no text")?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (first.next(), first.next().context("no path")?);
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>())
        });
        let length = length.transpose().context("no length")?.unwrap_or(0);
        if length > LONGEST {
            bail!("a body of {length} bytes");
        }
        let bytes = end + 4 + length;
        let Some(body) = received.get(end + 4..bytes) else {
            return Ok(None);
        };
        Ok(Some(Self {
            is_chat: method == Some("POST"),
            path: path.to_owned(),
            bytes,
            is_streamed: contains(body, br#""stream":true"#)
                || contains(body, br#""stream": true"#),
        }))
    }
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|bytes| bytes == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_there_when_its_body_is() {
        let whole = b"POST /instant/v1/chat/completions HTTP/1.1\r\ncontent-length: 15\r\n\r\n{\"stream\":true}";
        for end in 0..whole.len() {
            assert_eq!(Request::parse(&whole[..end]).unwrap(), None);
        }
        let request = Request::parse(whole).unwrap().unwrap();
        assert_eq!(request.path, "/instant/v1/chat/completions");
        assert_eq!(request.bytes, whole.len());
        assert!(request.is_chat && request.is_streamed);
    }

    #[test]
    fn a_request_without_a_body_ends_with_its_head() {
        let request = Request::parse(b"GET /paced/v1/models HTTP/1.1\r\nhost: a\r\n\r\n");
        let request = request.unwrap().unwrap();
        assert!(!request.is_chat && !request.is_streamed);
    }
}
