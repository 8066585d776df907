//! One case: the input, the expected messages, and the expected end.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::wire::{CLOSE, PING, PONG, ReceivedFrames, TEXT, last, reason};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The messages of the server, except its `goodbye` and pings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerMessage {
    /// The reply to a command, or to an unreadable one.
    Reply(Option<u64>),
    Pong(Vec<u8>),
}

/// The end of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The socket stays open: the client closes it, and receives its own code.
    ByClient,
    /// The server answers with this and closes the connection.
    ByServer(Option<u16>),
}

/// One case, under its number in the Autobahn test suite.
pub(super) struct Case {
    pub(super) number: String,
    /// The size of each write.
    sent: Vec<Vec<u8>>,
    expected: Vec<ServerMessage>,
    end: End,
}

impl Case {
    pub(super) fn new(number: impl Into<String>) -> Self {
        Self {
            number: number.into(),
            sent: Vec::new(),
            expected: Vec::new(),
            end: End::ByClient,
        }
    }

    /// Sends frames at once.
    pub(super) fn sends(mut self, frames: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.sent.push(frames.into_iter().flatten().collect());
        self
    }

    /// Sends the input in writes of this size.
    pub(super) fn in_writes_of(mut self, size: usize) -> Self {
        let all = self.sent.concat();
        self.sent = all.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    /// Expects a reply.
    pub(super) fn expects_reply(mut self, id: impl Into<Option<u64>>) -> Self {
        self.expected.push(ServerMessage::Reply(id.into()));
        self
    }

    pub(super) fn expects_pong(mut self, payload: &[u8]) -> Self {
        self.expected.push(ServerMessage::Pong(payload.to_vec()));
        self
    }

    /// Expects a close with this code.
    pub(super) fn expects_close(mut self, code: u16) -> Self {
        self.end = End::ByServer(Some(code));
        self
    }

    /// Expects a close without a code.
    pub(super) fn expects_close_without_code(mut self) -> Self {
        self.end = End::ByServer(None);
        self
    }

    /// The difference from the expectation.
    pub(super) async fn fault(&self, address: SocketAddr, key: &str) -> Option<String> {
        let tried = tokio::time::timeout(TIMEOUT, self.exchange(address, key)).await;
        let Ok((observed, end)) = tried else {
            return Some("it does not end".to_owned());
        };
        let expected = without_answered_pings(&self.expected);
        let observed = without_answered_pings(&observed);
        // Messages before a protocol error need not be answered.
        let is_expected = match self.end {
            End::ByServer(_) => expected.starts_with(&observed),
            End::ByClient => expected == observed,
        };
        let code = match self.end {
            End::ByServer(code) => code,
            End::ByClient => Some(1000),
        };
        let is_well = is_expected && end == Some(code);
        (!is_well).then(|| {
            format!(
                "{observed:?}, closed {end:?}, not {expected:?}, {:?}",
                self.end
            )
        })
    }

    /// The received messages, and the close frame, if any.
    async fn exchange(
        &self,
        address: SocketAddr,
        key: &str,
    ) -> (Vec<ServerMessage>, Option<Option<u16>>) {
        let mut connection = open(address, key).await;
        for bytes in &self.sent {
            // The socket may have been closed for an earlier frame.
            if connection.write_all(bytes).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut reading = ReceivedFrames::default();
        let (mut observed, mut closed, mut has_closed) = (Vec::new(), None, false);
        loop {
            while let Some((opcode, payload)) = reading.next() {
                assert_eq!(closed, None, "something comes after the close");
                match opcode {
                    TEXT => observed.extend(message_from(&payload)),
                    PONG => observed.push(ServerMessage::Pong(payload)),
                    PING => {}
                    CLOSE => {
                        closed = Some(payload.first_chunk().map(|code| u16::from_be_bytes(*code)));
                        let _ = connection.write_all(&last(CLOSE, &payload)).await;
                    }
                    other => panic!("opcode {other}"),
                }
            }
            if self.end == End::ByClient && !has_closed && self.is_all(&observed) {
                has_closed = true;
                let _ = connection.write_all(&last(CLOSE, &reason(1000, b""))).await;
            }
            let mut bytes = [0; 4096];
            match connection.read(&mut bytes).await {
                Ok(0) | Err(_) => break,
                Ok(count) => reading.push(&bytes[..count]),
            }
        }
        assert!(reading.is_empty(), "the last frame is cut");
        (observed, closed)
    }

    fn is_all(&self, observed: &[ServerMessage]) -> bool {
        without_answered_pings(observed) == without_answered_pings(&self.expected)
    }
}

/// Only the last of several pings must be answered (RFC 6455, section 5.5.3).
fn without_answered_pings(observed: &[ServerMessage]) -> Vec<ServerMessage> {
    let mut kept: Vec<ServerMessage> = Vec::new();
    for it in observed {
        if let (Some(ServerMessage::Pong(_)), ServerMessage::Pong(_)) = (kept.last(), it) {
            kept.pop();
        }
        kept.push(it.clone());
    }
    kept
}

fn message_from(text: &[u8]) -> Option<ServerMessage> {
    let frame: Value = serde_json::from_slice(text).expect("JSON");
    match frame["type"].as_str().expect("a type") {
        "reply" => Some(ServerMessage::Reply(frame["id"].as_u64())),
        "goodbye" | "ping" => None,
        other => panic!("a {other}"),
    }
}

/// An open socket of a raw client.
async fn open(address: SocketAddr, key: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    connection.set_nodelay(true).expect("no delay");
    let head = format!(
        "GET /api/ws HTTP/1.1\r\nHost: {address}\r\nX-API-Key: {key}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.expect("sent");
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        response.push(connection.read_u8().await.expect("an answer"));
    }
    let response = String::from_utf8(response).expect("a head");
    assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
    let accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    assert!(response.contains(accepted), "{response}");
    connection
}
