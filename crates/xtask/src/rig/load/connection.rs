//! One HTTP/1.1 connection that is kept open.
//!
//! By hand, because a client library costs more than the server it measures: on a small machine
//! both share the same cores.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::Expected;

/// A connection; one request at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A whole answer.
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Response<'_> {
    /// Fails loudly on any other answer.
    pub(crate) fn must_be(&self, expected: Expected) -> Result<()> {
        if !expected.is_met_by(self.status) {
            bail!(
                "expected {expected:?}, answered {}: {}",
                self.status,
                String::from_utf8_lossy(self.body)
            );
        }
        Ok(())
    }
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let received = Vec::with_capacity(16 * 1024);
        Ok(Self { stream, received })
    }

    /// Sends a request and waits for the whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Response<'_>> {
        self.received.clear();
        let sent = self.stream.write_all(request).await;
        sent.context("cannot send a request")?;
        let head = loop {
            let read = self.stream.read_buf(&mut self.received).await;
            if read.context("cannot read an answer")? == 0 {
                bail!("the connection was closed before the answer was whole");
            }
            if let Some(head) = Head::parse(&self.received)?
                && self.received.len() >= head.bytes + head.body_bytes
            {
                break head;
            }
        };
        Ok(Response {
            status: head.status,
            body: &self.received[head.bytes..head.bytes + head.body_bytes],
        })
    }
}

/// What must be known of the head of an answer.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    /// Its length, with the empty line.
    bytes: usize,
    body_bytes: usize,
}

impl Head {
    /// Reads a head; `None` when its end has not arrived yet.
    fn parse(received: &[u8]) -> Result<Option<Self>> {
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&received[..end]).context("an answer's head is no text")?;
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
            .with_context(|| format!("no status line: {head}"))?;
        let body_bytes = match lines.find_map(content_length) {
            Some(length) => length,
            None if matches!(status, 204 | 304) => 0,
            None => bail!("an answer without Content-Length: {head}"),
        };
        Ok(Some(Self {
            status,
            bytes: end + 4,
            body_bytes,
        }))
    }
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    if !name.eq_ignore_ascii_case("content-length") {
        return None;
    }
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            body_bytes: 2,
        };
        assert_eq!(Head::parse(received).unwrap(), Some(expected));
    }

    #[test]
    fn only_an_answer_that_cannot_have_a_body_may_leave_out_its_length() {
        let no_content = Head::parse(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        assert_eq!(no_content.map(|head| head.body_bytes), Some(0));
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn another_answer_is_told() {
        let answered = |status| {
            let body = b"too many";
            Response { status, body }.must_be(Expected::Success)
        };
        assert!(answered(201).is_ok());
        let told = answered(429).unwrap_err().to_string();
        assert_eq!(told, "expected Success, answered 429: too many");
    }
}
