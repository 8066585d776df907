//! The misbehaviours of clients.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    socket::{Socket, connect_with_small_buffer},
};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    task::JoinSet,
    time::{interval, sleep},
};

/// The pause between two bytes of a slow sender.
const BYTE_PAUSE: Duration = Duration::from_millis(200);
/// The number of pipelined requests of a client that reads no response.
const PIPELINED_REQUESTS: usize = 200;
/// The bytes that follow the head of a frame with a length of one gibibyte.
const FLOOD_BYTES: usize = 16 * 1024 * 1024;

/// A misbehaviour of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misbehaviour {
    SlowHead,
    SlowBody,
    UnreadResponses,
    UnreadSocket,
    HalfOpen,
    GiantFrame,
}

impl Misbehaviour {
    pub(super) const ALL: [Self; 6] = [
        Self::SlowHead,
        Self::SlowBody,
        Self::UnreadResponses,
        Self::UnreadSocket,
        Self::HalfOpen,
        Self::GiantFrame,
    ];

    /// The description in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SlowHead => "heads byte by byte, 200 clients",
            Self::SlowBody => "bodies byte by byte, 200 clients",
            Self::UnreadResponses => "unread responses, 20 clients",
            Self::UnreadSocket => "sockets that do not read 1,000 events, 5 clients",
            Self::HalfOpen => "silent connections, 1,000 clients",
            Self::GiantFrame => "frames of 1 GiB, 20 clients",
        }
    }

    pub(super) const fn clients(self) -> u32 {
        match self {
            Self::SlowHead | Self::SlowBody => 200,
            Self::UnreadResponses | Self::GiantFrame => 20,
            Self::UnreadSocket => 5,
            Self::HalfOpen => 1_000,
        }
    }

    /// The time limit of the service for such a client, and a margin for a busy machine.
    pub(super) const fn deadline(self) -> Duration {
        match self {
            Self::SlowHead | Self::HalfOpen => Duration::from_secs(5 + 3),
            Self::SlowBody => Duration::from_secs(15 + 3),
            // Half a minute without reading, after the buffers are full.
            Self::UnreadResponses => Duration::from_secs(30 + 6),
            Self::UnreadSocket => Duration::from_secs(10 + 6),
            Self::GiantFrame => Duration::from_secs(3 + 3),
        }
    }

    /// The memory that one client may cost, in KiB: that of any connection, and the buffer for a
    /// client that does not read (for sockets it is part of the contract).
    pub(super) const fn memory(self) -> u32 {
        match self {
            Self::SlowHead | Self::SlowBody | Self::HalfOpen | Self::GiantFrame => 32,
            Self::UnreadResponses => 128,
            Self::UnreadSocket => 1_024,
        }
    }

    /// Starts all clients. They run until the service or the caller drops them.
    pub(super) async fn start(self, endpoint: &Endpoint) -> Result<JoinSet<()>> {
        let mut clients = JoinSet::new();
        for _ in 0..self.clients() {
            match self {
                Self::SlowHead => {
                    let head = format!("GET /livez HTTP/1.1\r\nHost: {}\r\nX: ", endpoint.address);
                    clients.spawn(send_bytes(connected(endpoint).await?, head.into_bytes()));
                }
                Self::SlowBody => {
                    let length = [
                        ("Content-Type", "application/json"),
                        ("Content-Length", "9999"),
                    ];
                    let head = endpoint.request_with("POST", "/api/chat", &length, None);
                    clients.spawn(send_bytes(connected(endpoint).await?, head));
                }
                Self::HalfOpen => {
                    clients.spawn(hold(connected(endpoint).await?));
                }
                Self::UnreadResponses => {
                    let requests = endpoint
                        .request("GET", "/openapi.json", None)
                        .repeat(PIPELINED_REQUESTS);
                    let mut stream = connect_with_small_buffer(endpoint.address).await?;
                    clients.spawn(async move {
                        // The service may close the connection before all requests are sent.
                        let _ = stream.write_all(&requests).await;
                        hold(stream).await;
                    });
                }
                Self::UnreadSocket => {
                    let mut socket = Socket::open_with_small_buffer(endpoint).await?;
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

/// Sends `head`, and then one byte at a time until the connection is closed.
async fn send_bytes(mut stream: TcpStream, head: Vec<u8>) {
    let mut sent = stream.write_all(&head).await;
    let mut ticks = interval(BYTE_PAUSE);
    while sent.is_ok() {
        ticks.tick().await;
        sent = stream.write_all(b"a").await;
    }
    hold(stream).await;
}

/// Sends the head of a frame of one gibibyte, and its payload until the connection is closed.
async fn flood(mut socket: Socket) {
    let head = [0x81, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4];
    let mut sent = socket.send_raw(&head).await;
    let part = vec![0; 64 * 1024];
    for _ in 0..FLOOD_BYTES / part.len() {
        if sent.is_err() {
            break;
        }
        sent = socket.send_raw(&part).await;
    }
    hold(socket).await;
}

/// Keeps a connection open without using it.
async fn hold<T: Send>(connection: T) {
    loop {
        sleep(Duration::from_mins(1)).await;
        std::hint::black_box(&connection);
    }
}
