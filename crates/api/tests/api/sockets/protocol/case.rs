//! One case: what is sent, what is told, and how it ends.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::wire::{CLOSE, PING, PONG, Reading, TEXT, last, reason};

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the server tells, goodbyes and pings of its own aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// The answer to a command, or to one that cannot be read.
    Reply(Option<u64>),
    Pong(Vec<u8>),
}

/// How a socket ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It is still good when all is told: the client closes it, and is answered with its own code.
    ByClient,
    /// By this answer to what was sent, and by the server's hanging up.
    ByServer(Option<u16>),
}

/// One case, under its number in the Autobahn test suite.
pub(super) struct Case {
    pub(super) number: String,
    /// What is written at a time.
    sent: Vec<Vec<u8>>,
    told: Vec<Told>,
    end: End,
}

impl Case {
    pub(super) fn new(number: impl Into<String>) -> Self {
        Self {
            number: number.into(),
            sent: Vec::new(),
            told: Vec::new(),
            end: End::ByClient,
        }
    }

    /// Sends frames at once.
    pub(super) fn sends(mut self, frames: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.sent.push(frames.into_iter().flatten().collect());
        self
    }

    /// Sends so many bytes at a time of all there is to send.
    pub(super) fn chopped(mut self, size: usize) -> Self {
        let all = self.sent.concat();
        self.sent = all.chunks(size).map(<[u8]>::to_vec).collect();
        self
    }

    /// Is answered.
    pub(super) fn answers(mut self, id: impl Into<Option<u64>>) -> Self {
        self.told.push(Told::Reply(id.into()));
        self
    }

    pub(super) fn pongs(mut self, payload: &[u8]) -> Self {
        self.told.push(Told::Pong(payload.to_vec()));
        self
    }

    /// Ends with this code.
    pub(super) fn closes(mut self, code: u16) -> Self {
        self.end = End::ByServer(Some(code));
        self
    }

    /// Ends without a code.
    pub(super) fn closes_without_a_code(mut self) -> Self {
        self.end = End::ByServer(None);
        self
    }

    /// What is otherwise than it should be.
    pub(super) async fn fault(&self, address: SocketAddr, key: &str) -> Option<String> {
        let tried = tokio::time::timeout(PATIENCE, self.play(address, key)).await;
        let Ok((told, end)) = tried else {
            return Some("it does not end".to_owned());
        };
        let expected = without_answered_pings(&self.told);
        let told = without_answered_pings(&told);
        // What came before a fault need not be answered.
        let is_told = match self.end {
            End::ByServer(_) => expected.starts_with(&told),
            End::ByClient => expected == told,
        };
        let code = match self.end {
            End::ByServer(code) => code,
            End::ByClient => Some(1000),
        };
        let is_well = is_told && end == Some(code);
        (!is_well).then(|| format!("{told:?}, closed {end:?}, not {expected:?}, {:?}", self.end))
    }

    /// What was told, and the close frame that came, if one came.
    async fn play(&self, address: SocketAddr, key: &str) -> (Vec<Told>, Option<Option<u16>>) {
        let mut connection = open(address, key).await;
        for bytes in &self.sent {
            // It may have been closed for what came before.
            if connection.write_all(bytes).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let mut reading = Reading::default();
        let (mut told, mut closed, mut has_closed) = (Vec::new(), None, false);
        loop {
            while let Some((opcode, payload)) = reading.next() {
                assert_eq!(closed, None, "something comes after the close");
                match opcode {
                    TEXT => told.extend(told_in(&payload)),
                    PONG => told.push(Told::Pong(payload)),
                    PING => {}
                    CLOSE => {
                        closed = Some(payload.first_chunk().map(|code| u16::from_be_bytes(*code)));
                        let _ = connection.write_all(&last(CLOSE, &payload)).await;
                    }
                    other => panic!("opcode {other}"),
                }
            }
            if self.end == End::ByClient && !has_closed && self.is_all(&told) {
                has_closed = true;
                let _ = connection.write_all(&last(CLOSE, &reason(1000, b""))).await;
            }
            let mut bytes = [0; 4096];
            match connection.read(&mut bytes).await {
                Ok(0) | Err(_) => break,
                Ok(count) => reading.take_in(&bytes[..count]),
            }
        }
        assert!(reading.is_empty(), "the last frame is cut");
        (told, closed)
    }

    fn is_all(&self, told: &[Told]) -> bool {
        without_answered_pings(told) == without_answered_pings(&self.told)
    }
}

/// Of several pings the last one alone has to be answered (RFC 6455, section 5.5.3).
fn without_answered_pings(told: &[Told]) -> Vec<Told> {
    let mut kept: Vec<Told> = Vec::new();
    for it in told {
        if let (Some(Told::Pong(_)), Told::Pong(_)) = (kept.last(), it) {
            kept.pop();
        }
        kept.push(it.clone());
    }
    kept
}

fn told_in(text: &[u8]) -> Option<Told> {
    let frame: Value = serde_json::from_slice(text).expect("JSON");
    match frame["type"].as_str().expect("a type") {
        "reply" => Some(Told::Reply(frame["id"].as_u64())),
        "goodbye" | "ping" => None,
        other => panic!("a {other}"),
    }
}

/// A socket that is open, as a client of bytes has it.
async fn open(address: SocketAddr, key: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    connection.set_nodelay(true).expect("no delay");
    let head = format!(
        "GET /api/ws HTTP/1.1\r\nHost: {address}\r\nX-API-Key: {key}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(connection.read_u8().await.expect("an answer"));
    }
    let answer = String::from_utf8(answer).expect("a head");
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    let accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    assert!(answer.contains(accepted), "{answer}");
    connection
}
