//! Requests to the double.

use anyhow::{Context as _, Result, bail};

/// The longest body, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// The parsed parts of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) is_chat: bool,
    pub(super) path: String,
    /// The length of head and body, in bytes.
    pub(super) bytes: usize,
    /// True if the client requests a stream.
    pub(super) is_streamed: bool,
    /// True if the request has tools and no result of one.
    pub(super) expects_call: bool,
}

impl Request {
    /// Parses a request; `None` while its end has not arrived.
    pub(super) fn parse(received: &[u8]) -> Result<Option<Self>> {
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&received[..end]).context("a request head is not text")?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (first.next(), first.next().context("no path")?);
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>())
        });
        let length = length.transpose().context("no length")?.unwrap_or(0);
        if length > MAX_BODY {
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
            expects_call: contains(body, br#""tools":"#) && !contains(body, br#""role":"tool""#),
        }))
    }
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|bytes| bytes == part)
}
