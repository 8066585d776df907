//! One HTTP/1.1 connection that is kept open.
//!
//! It writes and parses bytes itself: on a small machine the generator shares the cores with the
//! server, and a client library costs more processor time than the server that is measured.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Expected, ResponseHead, ServerTiming};

/// A connection that carries one request at a time.
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A complete response.
pub struct RawResponse<'a> {
    /// The status code.
    pub status: u16,
    /// The body; with the lengths of its chunks if it is sent in chunks.
    pub body: &'a [u8],
    /// The times of `Server-Timing`.
    pub timing: ServerTiming,
}

impl RawResponse<'_> {
    /// Returns an error for any other response: an error response is fast, and would count as
    /// speed.
    pub fn require(&self, expected: Expected) -> Result<()> {
        if !expected.is_met_by(self.status, self.body) {
            bail!(
                "expected {expected:?}, got {}: {}",
                self.status,
                String::from_utf8_lossy(self.body)
            );
        }
        Ok(())
    }
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let received = Vec::with_capacity(16 * 1024);
        Ok(Self { stream, received })
    }

    /// Sends a request and waits for the complete response.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<RawResponse<'_>> {
        self.received.clear();
        let sent = self.stream.write_all(request).await;
        sent.context("cannot send a request")?;
        let head = loop {
            let read = self.stream.read_buf(&mut self.received).await;
            if read.context("cannot read a response")? == 0 {
                bail!("the connection was closed before the response was complete");
            }
            if let Some(head) = ResponseHead::parse(&self.received)?
                && head.is_complete(&self.received)
            {
                break head;
            }
        };
        Ok(RawResponse {
            status: head.status,
            body: &self.received[head.bytes..],
            timing: head.timing,
        })
    }
}
