//! One WebSocket, at little cost: text only, and what must be known of the rest.
//!
//! By hand, because ten thousand of them are opened beside the server that they measure, and some
//! are to do what no library would.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::load::{Endpoint, Framing, Head};

/// Any will do, since nobody listens in on loopback.
const MASK: [u8; 4] = [1, 2, 3, 4];
/// How long the answer to an upgrade or a command may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lengths that say that the length follows in so many bytes.
const TWO_BYTES: u8 = 126;
const EIGHT_BYTES: u8 = 127;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A WebSocket. Dropping it ends its connection without a word.
pub(crate) struct Socket {
    stream: TcpStream,
    received: Vec<u8>,
}

/// What the server sent.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// One JSON object, not yet read.
    Text(Vec<u8>),
    /// The end, with its code.
    Close(u16),
    /// The connection ended without another word.
    End,
}

impl Socket {
    /// Connects, with the endpoint's credential in the upgrade.
    pub(crate) async fn open(endpoint: &Endpoint) -> Result<Self> {
        let stream = TcpStream::connect(endpoint.address)
            .await
            .context("cannot connect")?;
        Self::upgrade(stream, endpoint).await
    }

    /// The same with a system that takes next to nothing on its own before it is read.
    pub(crate) async fn open_narrow(endpoint: &Endpoint) -> Result<Self> {
        Self::upgrade(narrow(endpoint.address).await?, endpoint).await
    }

    async fn upgrade(mut stream: TcpStream, endpoint: &Endpoint) -> Result<Self> {
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let request = endpoint.request_with("GET", "/api/ws", &UPGRADE, None);
        let sent = stream.write_all(&request).await;
        sent.context("cannot ask for an upgrade")?;
        let mut received = Vec::new();
        let head = loop {
            if let Some(head) = Head::parse(&received)? {
                break head;
            }
            let read = timeout(PATIENCE, stream.read_buf(&mut received)).await;
            if read.context("no answer to an upgrade")?? == 0 {
                bail!("the connection was closed before the upgrade");
            }
        };
        if head.body != Framing::Upgraded {
            let rest = String::from_utf8_lossy(&received[head.bytes..]);
            bail!("no upgrade but {}: {rest}", head.status);
        }
        received.drain(..head.bytes);
        Ok(Self { stream, received })
    }

    /// Sends one JSON object.
    pub(crate) async fn send(&mut self, value: &Value) -> Result<()> {
        self.write(TEXT, value.to_string().as_bytes()).await
    }

    /// Says that it goes.
    pub(crate) async fn close(&mut self) -> Result<()> {
        self.write(CLOSE, &1000_u16.to_be_bytes()).await
    }

    /// Sends these bytes, whatever they are.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.stream.write_all(bytes).await;
        sent.context("cannot send")
    }

    async fn write(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        let mut frame = vec![0x80 | kind];
        match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
            (Ok(length @ ..TWO_BYTES), _) => frame.push(0x80 | length),
            (_, Ok(length)) => {
                frame.push(0x80 | TWO_BYTES);
                frame.extend(length.to_be_bytes());
            }
            _ => bail!("a frame of {} bytes", payload.len()),
        }
        frame.extend(MASK);
        let masked = payload.iter().zip(MASK.iter().cycle());
        frame.extend(masked.map(|(byte, mask)| byte ^ mask));
        self.send_raw(&frame).await
    }

    /// The next frame that says something; pings are answered on the way. An await that is dropped
    /// loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Frame> {
        loop {
            while let Some((kind, payload)) = take(&mut self.received)? {
                match kind {
                    TEXT => return Ok(Frame::Text(payload)),
                    CLOSE => {
                        let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                        return Ok(Frame::Close(code.unwrap_or(1005)));
                    }
                    PING => self.write(PONG, &payload).await?,
                    _ => {}
                }
            }
            // A reset is an end like any other.
            let read = self.stream.read_buf(&mut self.received).await;
            if read.unwrap_or(0) == 0 {
                return Ok(Frame::End);
            }
            if self.received.capacity() > SMALL && self.received.is_empty() {
                self.received.shrink_to_fit();
            }
        }
    }

    /// Sends a command, and answers its result; what else comes meanwhile is passed over.
    pub(crate) async fn command(&mut self, command: &Value) -> Result<Value> {
        self.send(command).await?;
        let answer = timeout(PATIENCE, async {
            loop {
                match self.next().await? {
                    Frame::Text(frame) => {
                        let frame = json(&frame)?;
                        if frame["type"] == "reply" {
                            return Ok(frame);
                        }
                    }
                    end => bail!("{end:?} instead of an answer to {command}"),
                }
            }
        });
        let answer = answer.await.context("no answer to a command")??;
        if answer["ok"] != true || answer["id"] != command["id"] {
            bail!("{command} is answered {answer}");
        }
        Ok(answer["result"].clone())
    }
}

/// Buffers up to this are kept between frames.
const SMALL: usize = 4 * 1024;

const UPGRADE: [(&str, &str); 5] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ("Sec-WebSocket-Protocol", "agent-service.v1"),
];

/// What a frame says.
pub(crate) fn json(frame: &[u8]) -> Result<Value> {
    serde_json::from_slice(frame).context("a frame without JSON")
}

/// A connection of which the system takes next to nothing before it is read.
pub(crate) async fn narrow(address: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4().context("cannot make a socket")?;
    socket
        .set_recv_buffer_size(4 * 1024)
        .context("cannot narrow a socket")?;
    socket.connect(address).await.context("cannot connect")
}

/// The frame at the beginning of `received`, if it is whole.
fn take(received: &mut Vec<u8>) -> Result<Option<(u8, Vec<u8>)>> {
    let &[first, second, ref rest @ ..] = received.as_slice() else {
        return Ok(None);
    };
    if first & 0xF0 != 0x80 || second & 0x80 != 0 {
        bail!("a fragment, or a masked frame, from the server");
    }
    let (length, header) = match second {
        TWO_BYTES => {
            let length = rest
                .first_chunk()
                .map(|it| u64::from(u16::from_be_bytes(*it)));
            (length, 4)
        }
        EIGHT_BYTES => (rest.first_chunk().map(|it| u64::from_be_bytes(*it)), 10),
        length => (Some(u64::from(length)), 2),
    };
    let Some(length) = length else {
        return Ok(None);
    };
    let end = header + usize::try_from(length).context("a frame larger than memory")?;
    if received.len() < end {
        return Ok(None);
    }
    let payload = received[header..end].to_vec();
    received.drain(..end);
    Ok(Some((first & 0x0F, payload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: &[u8], payload: &[u8]) -> Vec<u8> {
        [&[0x80 | kind], length, payload].concat()
    }

    #[test]
    fn reads_frames_of_all_lengths_once_they_are_whole() {
        for (length, size) in [
            (vec![3], 3),
            (vec![126, 1, 0], 256),
            (vec![127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536),
        ] {
            let whole = frame(TEXT, &length, &vec![7; size]);
            let mut received = whole[..whole.len() - 1].to_vec();
            assert!(take(&mut received).unwrap().is_none());
            received = whole;
            received.push(0x88);
            let taken = take(&mut received).unwrap().unwrap();
            assert_eq!((taken.0, taken.1.len()), (TEXT, size));
            assert_eq!(received, [0x88]);
        }
    }

    #[test]
    fn a_masked_frame_is_no_servers() {
        assert!(take(&mut vec![0x81, 0x81, 1, 2, 3, 4, 5]).is_err());
    }
}
