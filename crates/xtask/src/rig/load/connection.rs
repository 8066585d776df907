//! One HTTP/1.1 connection that is kept open.
//!
//! By hand, because a client library costs more than the server it measures: on a small machine
//! both share the same cores.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result, bail};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Expected, Framing, Head};

/// A connection; one request at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A whole answer.
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
    /// The time in the store that it tells of.
    pub(crate) store: Duration,
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
        let (head, body_bytes) = loop {
            let read = self.stream.read_buf(&mut self.received).await;
            if read.context("cannot read an answer")? == 0 {
                bail!("the connection was closed before the answer was whole");
            }
            let Some(head) = Head::parse(&self.received)? else {
                continue;
            };
            let Framing::Bytes(body_bytes) = head.body else {
                bail!("an answer without Content-Length");
            };
            if self.received.len() >= head.bytes + body_bytes {
                break (head, body_bytes);
            }
        };
        Ok(Response {
            status: head.status,
            body: &self.received[head.bytes..head.bytes + body_bytes],
            store: head.store.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_answer_is_told() {
        let answered = |status| {
            let body = b"too many";
            let store = Duration::ZERO;
            let response = Response {
                status,
                body,
                store,
            };
            response.must_be(Expected::Success)
        };
        assert!(answered(201).is_ok());
        let told = answered(429).unwrap_err().to_string();
        assert_eq!(told, "expected Success, answered 429: too many");
    }
}
