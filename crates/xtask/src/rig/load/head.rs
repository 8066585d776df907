//! What must be known of the head of an answer.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// What must be known of the head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Its length, with the empty line.
    pub(crate) bytes: usize,
    pub(crate) body: Framing,
    /// The time in the store that it tells of in `Server-Timing`.
    pub(crate) store: Option<Duration>,
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By its length.
    Bytes(usize),
    /// By a last, empty chunk.
    Chunked,
    /// It has none: from here on another protocol is spoken.
    Upgraded,
}

impl Head {
    /// Reads a head; `None` when its end has not arrived yet.
    pub(crate) fn parse(received: &[u8]) -> Result<Option<Self>> {
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&received[..end]).context("an answer's head is no text")?;
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
            .with_context(|| format!("no status line: {head}"))?;
        let store = lines.clone().find_map(store);
        let body = match lines.find_map(framing) {
            _ if status == 101 => Framing::Upgraded,
            Some(framing) => framing,
            None if matches!(status, 204 | 304) => Framing::Bytes(0),
            None => bail!("an answer whose body has no end: {head}"),
        };
        Ok(Some(Self {
            status,
            bytes: end + 4,
            body,
            store,
        }))
    }
}

fn store(line: &str) -> Option<Duration> {
    let (name, value) = line.split_once(':')?;
    if !name.eq_ignore_ascii_case("server-timing") {
        return None;
    }
    let mut metrics = value.split(',').map(str::trim);
    let milliseconds = metrics.find_map(|metric| metric.strip_prefix("store;dur="))?;
    Some(Duration::from_secs_f64(
        milliseconds.parse::<f64>().ok()? / 1_000.0,
    ))
}

fn framing(line: &str) -> Option<Framing> {
    let (name, value) = line.split_once(':')?;
    let value = value.trim();
    if name.eq_ignore_ascii_case("content-length") {
        return value.parse().ok().map(Framing::Bytes);
    }
    let is_chunked =
        name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked");
    is_chunked.then_some(Framing::Chunked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn body(received: &str) -> Framing {
        Head::parse(received.as_bytes()).unwrap().unwrap().body
    }

    #[test]
    fn waits_for_the_end_of_the_head() {
        assert_eq!(Head::parse(b"HTTP/1.1 200 OK\r\ncontent-le").unwrap(), None);
    }

    #[test]
    fn reads_status_and_lengths() {
        let received = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        let expected = Head {
            status: 200,
            bytes: received.len() - 2,
            body: Framing::Bytes(2),
            store: None,
        };
        assert_eq!(Head::parse(received).unwrap(), Some(expected));
    }

    #[test]
    fn reads_the_time_in_the_store() {
        let received = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\
            Server-Timing: store;dur=1.500, engine;dur=2.000, total;dur=4.000\r\n\r\n{}";
        let head = Head::parse(received).unwrap().unwrap();
        assert_eq!(head.store, Some(Duration::from_micros(1_500)));
    }

    #[test]
    fn reads_how_the_end_of_the_body_is_told() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(body(chunked), Framing::Chunked);
        let upgraded = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n";
        assert_eq!(body(upgraded), Framing::Upgraded);
    }

    #[test]
    fn only_an_answer_that_cannot_have_a_body_may_leave_out_its_length() {
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n"), Framing::Bytes(0));
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
