//! The fields of a response head that the load generator needs.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// The end of a body in chunks.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// The parsed head of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The length of the head with the empty line, in bytes.
    pub bytes: usize,
    /// The length of the body in bytes; `None` if it is sent in chunks.
    pub body_bytes: Option<usize>,
    /// The times of `Server-Timing`; zero without one.
    pub timing: ServerTiming,
}

/// The times that a response reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerTiming {
    /// The time in the store.
    pub store: Duration,
    /// The time in the engine, with its requests to a model server.
    pub engine: Duration,
}

impl ResponseHead {
    /// Returns true if `received`, which begins with the head, ends with the body.
    pub fn is_complete(&self, received: &[u8]) -> bool {
        match self.body_bytes {
            Some(bytes) => received.len() >= self.bytes + bytes,
            None => received.ends_with(LAST_CHUNK),
        }
    }

    /// Parses a head; `None` while its end has not arrived. A body of which neither the length nor
    /// the end is known is an error.
    pub fn parse(received: &[u8]) -> Result<Option<Self>> {
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&received[..end]).context("a response head is not text")?;
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
            .with_context(|| format!("no status line: {head}"))?;
        let body_bytes = match lines.clone().find_map(content_length) {
            Some(bytes) => Some(bytes),
            None if matches!(status, 204 | 304) => Some(0),
            None if lines.clone().any(is_chunked) => None,
            None => bail!("a response without Content-Length: {head}"),
        };
        Ok(Some(Self {
            status,
            bytes: end + 4,
            body_bytes,
            timing: lines.find_map(server_timing).unwrap_or_default(),
        }))
    }
}

fn content_length(line: &str) -> Option<usize> {
    value_of("content-length", line)?.parse().ok()
}

fn is_chunked(line: &str) -> bool {
    value_of("transfer-encoding", line) == Some("chunked")
}

fn server_timing(line: &str) -> Option<ServerTiming> {
    let metrics = value_of("server-timing", line)?;
    let duration = |name: &str| {
        let mut metrics = metrics.split(',').map(str::trim);
        let milliseconds = metrics.find_map(|it| it.strip_prefix(name)?.strip_prefix(";dur="))?;
        let milliseconds: f64 = milliseconds.parse().ok()?;
        Some(Duration::from_secs_f64(milliseconds / 1_000.0))
    };
    Some(ServerTiming {
        store: duration("store")?,
        engine: duration("engine")?,
    })
}

fn value_of<'l>(header: &str, line: &'l str) -> Option<&'l str> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case(header).then_some(value.trim())
}
