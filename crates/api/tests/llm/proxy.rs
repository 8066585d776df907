//! A proxy between the engine and a server: relays bytes, records disconnects, and can break the
//! connection.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinSet,
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The treatment of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyMode {
    /// Responses pass.
    Clear,
    /// Responses are held back.
    Held,
    /// The connection breaks after this many events.
    CutAfter(usize),
}

/// A proxy in front of a server. Closes all connections when dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    mode: watch::Sender<ProxyMode>,
    open: watch::Receiver<usize>,
    _relaying: JoinSet<()>,
}

impl Proxy {
    /// Relays to this server.
    pub(crate) async fn in_front_of(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (mode, pace) = watch::channel(ProxyMode::Clear);
        let (opened, open) = watch::channel(0);
        let opened = Arc::new(opened);
        let mut relaying = JoinSet::new();
        relaying.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (engine, _) = listener.accept().await.expect("a connection");
                opened.send_modify(|open| *open += 1);
                let (opened, pace) = (Arc::clone(&opened), pace.clone());
                connections.spawn(async move {
                    relay(engine, server, pace).await;
                    opened.send_modify(|open| *open -= 1);
                });
            }
        });
        Self {
            address,
            mode,
            open,
            _relaying: relaying,
        }
    }

    /// Sets the mode for all later responses.
    pub(crate) fn set(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
    }

    /// Waits until the engine has this many open connections.
    pub(crate) async fn wait_until_open(&self, wanted: usize) {
        let mut open = self.open.clone();
        let waiting = open.wait_for(|open| *open == wanted);
        let is_so = matches!(tokio::time::timeout(TIMEOUT, waiting).await, Ok(Ok(_)));
        let open = *self.open.borrow();
        assert!(is_so, "{open} connections are open instead of {wanted}");
    }
}

/// Relays until one side closes, then closes the other.
async fn relay(engine: TcpStream, server: SocketAddr, pace: watch::Receiver<ProxyMode>) {
    let server = TcpStream::connect(server).await.expect("the server");
    let (from_engine, to_engine) = engine.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = copy_bytes(from_engine, to_server) => {}
        () = relay_response(from_server, to_engine, pace) => {}
    }
}

async fn copy_bytes(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // Only the end of a connection matters, not its kind.
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn relay_response(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut pace: watch::Receiver<ProxyMode>,
) {
    let mut part = Vec::with_capacity(16 * 1024);
    let mut events = 0;
    while let Ok(1..) = from.read_buf(&mut part).await {
        if pace
            .wait_for(|mode| *mode != ProxyMode::Held)
            .await
            .is_err()
        {
            return;
        }
        let mode = *pace.borrow();
        if let ProxyMode::CutAfter(most) = mode {
            let (whole, ended) = events_prefix(&part, most - events);
            events += ended;
            part.truncate(whole);
        }
        if to.write_all(&part).await.is_err() || mode == ProxyMode::CutAfter(events) {
            return;
        }
        part.clear();
    }
}

/// The size of the longest prefix with at most this many events, and their number.
fn events_prefix(part: &[u8], most: usize) -> (usize, usize) {
    let ends = part.windows(2).enumerate();
    let mut ends = ends
        .filter(|(_, bytes)| *bytes == b"\n\n")
        .map(|(place, _)| place + 2);
    let mut ended = 0;
    for end in ends.by_ref() {
        ended += 1;
        if ended == most {
            return (end, ended);
        }
    }
    (part.len(), ended)
}
