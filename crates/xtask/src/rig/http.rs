//! A client whose requests may come to nothing, and that tells how.

use std::{fmt, net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::load::{Framing, Head};

/// How a request came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Nobody listens there.
    Refused,
    /// The connection ended before the first byte of an answer.
    Unanswered,
    /// The connection ended between the first byte of an answer and its last.
    Cut,
    /// It took longer than anybody waits.
    Late,
    /// What came is no answer.
    Garbled,
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Refused => "refused",
            Self::Unanswered => "unanswered",
            Self::Cut => "cut",
            Self::Late => "late",
            Self::Garbled => "garbled",
        })
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// The body as JSON; null when it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// An answer whose head has come. Dropping it closes the connection.
pub(crate) struct Incoming {
    stream: TcpStream,
    received: Vec<u8>,
    pub(crate) status: u16,
    /// The bytes that are still to come, or `None` when chunks tell.
    left: Option<usize>,
    has_ended: bool,
}

/// Sends a request on a connection of its own and waits for the whole answer.
pub(crate) async fn ask(
    address: SocketAddr,
    request: &[u8],
    patience: Duration,
) -> Result<Response, Broken> {
    within(patience, async {
        Incoming::open(address, request).await?.whole().await
    })
    .await
}

/// Ends what takes too long.
pub(crate) async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, Broken>>,
) -> Result<T, Broken> {
    timeout(patience, work).await.unwrap_or(Err(Broken::Late))
}

/// A new connection.
pub(crate) async fn connect(address: SocketAddr) -> Result<TcpStream, Broken> {
    let stream = TcpStream::connect(address).await;
    let stream = stream.map_err(|_refused| Broken::Refused)?;
    stream
        .set_nodelay(true)
        .map_err(|_gone| Broken::Unanswered)?;
    Ok(stream)
}

impl Incoming {
    /// Sends a request on a connection of its own and waits for the head of the answer.
    pub(crate) async fn open(address: SocketAddr, request: &[u8]) -> Result<Self, Broken> {
        let mut stream = connect(address).await?;
        // Who was refused while still sending finds the reason in the answer.
        let _ = stream.write_all(request).await;
        Self::read(stream).await
    }

    /// Waits for the head of the answer to what was sent on this connection.
    pub(crate) async fn read(mut stream: TcpStream) -> Result<Self, Broken> {
        let mut received = Vec::new();
        loop {
            let head = Head::parse(&received).map_err(|_malformed| Broken::Garbled)?;
            if let Some(head) = head {
                received.drain(..head.bytes);
                let left = match head.body {
                    Framing::Bytes(bytes) => Some(bytes),
                    Framing::Chunked => None,
                    Framing::Upgraded => return Err(Broken::Garbled),
                };
                return Ok(Self {
                    stream,
                    received,
                    status: head.status,
                    left,
                    has_ended: left == Some(0),
                });
            }
            if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
                let has_begun = !received.is_empty();
                return Err(if has_begun {
                    Broken::Cut
                } else {
                    Broken::Unanswered
                });
            }
        }
    }

    /// The next part of the body as it comes, or `None` at its end.
    pub(crate) async fn part(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        loop {
            if self.has_ended {
                return Ok(None);
            }
            if let Some(part) = self.take()? {
                return Ok(Some(part));
            }
            if !self.has_ended && !matches!(self.stream.read_buf(&mut self.received).await, Ok(1..))
            {
                return Err(Broken::Cut);
            }
        }
    }

    /// Waits for the rest of the body.
    pub(crate) async fn whole(mut self) -> Result<Response, Broken> {
        let mut body = Vec::new();
        while let Some(part) = self.part().await? {
            body.extend(part);
        }
        Ok(Response {
            status: self.status,
            body,
        })
    }

    /// A part of the body out of what was received.
    fn take(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        let Some(left) = self.left else {
            let chunk = take_chunk(&mut self.received)?;
            self.has_ended = chunk.as_ref().is_some_and(Vec::is_empty);
            return Ok(chunk.filter(|data| !data.is_empty()));
        };
        let available = left.min(self.received.len());
        self.left = Some(left - available);
        self.has_ended = left == available;
        let part: Vec<u8> = self.received.drain(..available).collect();
        Ok((!part.is_empty()).then_some(part))
    }
}

/// The chunk at the beginning of `received` if it is whole; the last one is empty.
fn take_chunk(received: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Broken> {
    let Some(end) = received.windows(2).position(|bytes| bytes == b"\r\n") else {
        return Ok(None);
    };
    let size = std::str::from_utf8(&received[..end]).ok();
    let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
    let size = size.ok_or(Broken::Garbled)?;
    let whole = end + 2 + size + 2;
    if received.len() < whole {
        return Ok(None);
    }
    let chunk = received[end + 2..whole - 2].to_vec();
    received.drain(..whole);
    Ok(Some(chunk))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// What is made of an answer of these bytes, after which the server hangs up.
    async fn answered(bytes: &'static [u8]) -> Result<Response, Broken> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 3];
            stream.read_exact(&mut request).await.unwrap();
            stream.write_all(bytes).await.unwrap();
        };
        let (response, ()) = tokio::join!(ask(address, b"ask", Duration::from_secs(30)), serving);
        response
    }

    #[tokio::test]
    async fn reads_bodies_by_length_and_by_chunks() {
        for bytes in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"[..],
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ] {
            let response = answered(bytes).await.unwrap();
            assert_eq!((response.status, response.body), (200, b"hello".to_vec()));
        }
    }

    #[tokio::test]
    async fn tells_no_answer_from_half_an_answer() {
        assert_eq!(answered(b"").await.err(), Some(Broken::Unanswered));
        for bytes in [
            &b"HTTP/1.1 20"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n",
        ] {
            assert_eq!(answered(bytes).await.err(), Some(Broken::Cut));
        }
    }

    #[tokio::test]
    async fn tells_that_nobody_listens() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let asked = ask(address, b"ask", Duration::from_secs(30)).await;
        assert_eq!(asked.err(), Some(Broken::Refused));
    }
}
