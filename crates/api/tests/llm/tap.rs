//! Between the engine and a server: relays bytes, sees who hangs up, and can break the line.

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

/// Long enough for a slow machine, short enough for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is done to answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// They pass.
    Clear,
    /// They are held back.
    Held,
    /// The line breaks after so many events.
    CutAfter(usize),
}

/// A relay in front of a server. Ends with all its connections when it is dropped.
pub(crate) struct Tap {
    pub(crate) address: SocketAddr,
    line: watch::Sender<Line>,
    open: watch::Receiver<usize>,
    _relaying: JoinSet<()>,
}

impl Tap {
    /// Relays to this server.
    pub(crate) async fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (line, pace) = watch::channel(Line::Clear);
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
            line,
            open,
            _relaying: relaying,
        }
    }

    /// Does this to answers from now on.
    pub(crate) fn set(&self, line: Line) {
        self.line.send_replace(line);
    }

    /// Waits until so many connections of the engine are open.
    pub(crate) async fn until_open(&self, wanted: usize) {
        let mut open = self.open.clone();
        let waiting = open.wait_for(|open| *open == wanted);
        let is_so = matches!(tokio::time::timeout(PATIENCE, waiting).await, Ok(Ok(_)));
        let open = *self.open.borrow();
        assert!(is_so, "{open} connections are open instead of {wanted}");
    }
}

/// Relays until one of both hangs up, which then hangs up the other.
async fn relay(engine: TcpStream, server: SocketAddr, pace: watch::Receiver<Line>) {
    let server = TcpStream::connect(server).await.expect("the server");
    let (from_engine, to_engine) = engine.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pass(from_engine, to_server) => {}
        () = answer(from_server, to_engine, pace) => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // How a connection ends does not matter here, only that it does.
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn answer(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut pace: watch::Receiver<Line>) {
    let mut part = Vec::with_capacity(16 * 1024);
    let mut events = 0;
    while let Ok(1..) = from.read_buf(&mut part).await {
        if pace.wait_for(|line| *line != Line::Held).await.is_err() {
            return;
        }
        let line = *pace.borrow();
        if let Line::CutAfter(most) = line {
            let (whole, ended) = until(&part, most - events);
            events += ended;
            part.truncate(whole);
        }
        if to.write_all(&part).await.is_err() || line == Line::CutAfter(events) {
            return;
        }
        part.clear();
    }
}

/// How many bytes hold at most so many ends of events, and how many they hold.
fn until(part: &[u8], most: usize) -> (usize, usize) {
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
