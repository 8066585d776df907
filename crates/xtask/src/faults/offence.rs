//! What clients do that should not be done.

use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    task::JoinSet,
    time::{interval, sleep},
};

use crate::rig::{
    load::Endpoint,
    socket::{Socket, narrow},
};

/// Between two bytes of who sends slowly.
const DRIP: Duration = Duration::from_millis(200);
/// Answers that are asked for at once by who does not read any.
const UNREAD: usize = 200;
/// What is sent after the head of a frame that says it is a gibibyte long.
const FLOOD: usize = 16 * 1024 * 1024;

/// What clients do that should not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offence {
    SlowHead,
    SlowBody,
    UnreadAnswers,
    UnreadSocket,
    HalfOpen,
    GiantFrame,
}

impl Offence {
    pub(super) const ALL: [Self; 6] = [
        Self::SlowHead,
        Self::SlowBody,
        Self::UnreadAnswers,
        Self::UnreadSocket,
        Self::HalfOpen,
        Self::GiantFrame,
    ];

    /// In the field's own words.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SlowHead => "heads byte by byte, 200 clients",
            Self::SlowBody => "bodies byte by byte, 200 clients",
            Self::UnreadAnswers => "answers that are not read, 20 clients",
            Self::UnreadSocket => "sockets that do not read 1,000 events, 5 clients",
            Self::HalfOpen => "connections that say nothing, 1,000 clients",
            Self::GiantFrame => "frames of 1 GiB, 20 clients",
        }
    }

    pub(super) const fn clients(self) -> u32 {
        match self {
            Self::SlowHead | Self::SlowBody => 200,
            Self::UnreadAnswers | Self::GiantFrame => 20,
            Self::UnreadSocket => 5,
            Self::HalfOpen => 1_000,
        }
    }

    /// Within this time who does it is dropped, and a little more for a busy machine.
    pub(super) const fn deadline(self) -> Duration {
        match self {
            Self::SlowHead | Self::HalfOpen => Duration::from_secs(5 + 3),
            Self::SlowBody => Duration::from_secs(15 + 3),
            // Half a minute without taking anything, and what had been taken before.
            Self::UnreadAnswers => Duration::from_secs(30 + 6),
            Self::UnreadSocket => Duration::from_secs(10 + 6),
            Self::GiantFrame => Duration::from_secs(3 + 3),
        }
    }

    /// Memory that each of them may cost, in KiB: what any connection may, and for who does not read
    /// what is kept for it meanwhile (for sockets that is in the contract).
    pub(super) const fn memory(self) -> u32 {
        match self {
            Self::SlowHead | Self::SlowBody | Self::HalfOpen | Self::GiantFrame => 32,
            Self::UnreadAnswers => 128,
            Self::UnreadSocket => 1_024,
        }
    }

    /// Has all clients do it. They go on until they are dropped, or this is.
    pub(super) async fn commit(self, endpoint: &Endpoint) -> Result<JoinSet<()>> {
        let mut clients = JoinSet::new();
        for _ in 0..self.clients() {
            match self {
                Self::SlowHead => {
                    let head = format!("GET /livez HTTP/1.1\r\nHost: {}\r\nX: ", endpoint.address);
                    clients.spawn(drip(connected(endpoint).await?, head.into_bytes()));
                }
                Self::SlowBody => {
                    let length = [
                        ("Content-Type", "application/json"),
                        ("Content-Length", "9999"),
                    ];
                    let head = endpoint.request_with("POST", "/api/chat", &length, None);
                    clients.spawn(drip(connected(endpoint).await?, head));
                }
                Self::HalfOpen => {
                    clients.spawn(hold(connected(endpoint).await?));
                }
                Self::UnreadAnswers => {
                    let ask = endpoint
                        .request("GET", "/openapi.json", None)
                        .repeat(UNREAD);
                    let mut stream = narrow(endpoint.address).await?;
                    clients.spawn(async move {
                        // It may be dropped before it has asked for everything.
                        let _ = stream.write_all(&ask).await;
                        hold(stream).await;
                    });
                }
                Self::UnreadSocket => {
                    let mut socket = Socket::open_narrow(endpoint).await?;
                    let connect = json!({"id": 1, "type": "connect", "channels": ["tenant"]});
                    socket.command(&connect).await?;
                    clients.spawn(hold(socket));
                }
                Self::GiantFrame => {
                    clients.spawn(flood(Socket::open(endpoint).await?));
                }
            }
        }
        Ok(clients)
    }
}

async fn connected(endpoint: &Endpoint) -> Result<TcpStream> {
    let stream = TcpStream::connect(endpoint.address).await;
    stream.context("cannot connect")
}

/// Sends `head`, and then something byte by byte until nobody takes it any more.
async fn drip(mut stream: TcpStream, head: Vec<u8>) {
    let mut sent = stream.write_all(&head).await;
    let mut ticks = interval(DRIP);
    while sent.is_ok() {
        ticks.tick().await;
        sent = stream.write_all(b"a").await;
    }
    hold(stream).await;
}

/// Sends the head of a frame of a gibibyte, and as much of the rest as is taken.
async fn flood(mut socket: Socket) {
    let head = [0x81, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4];
    let mut sent = socket.send_raw(&head).await;
    let part = vec![0; 64 * 1024];
    for _ in 0..FLOOD / part.len() {
        if sent.is_err() {
            break;
        }
        sent = socket.send_raw(&part).await;
    }
    hold(socket).await;
}

/// Keeps a connection and does nothing with it.
async fn hold<T: Send>(connection: T) {
    loop {
        sleep(Duration::from_mins(1)).await;
        std::hint::black_box(&connection);
    }
}
