//! The listener of the double.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use anyhow::{Context as _, Result};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
    task::JoinSet,
};

use super::{
    connection::{EVENTS, JSON, chunked, serve, sized},
    payload,
    response_mode::{PIECES, ResponseMode},
};
use crate::runtime;

/// The number of connections that may wait for `accept`.
const BACKLOG: u32 = 1_024;

/// A running double. Dropping it closes the listener and all connections.
pub struct Upstream {
    /// The address on which it listens.
    pub address: SocketAddr,
    state: Arc<State>,
    _stop: oneshot::Sender<()>,
}

/// The state that all connections share.
pub(super) struct State {
    pub(super) open: AtomicUsize,
    pub(super) busy: AtomicUsize,
    pub(super) requests: AtomicUsize,
    pub(super) is_repaired: AtomicBool,
    /// The responses of [`ResponseMode::Instant`], rendered once.
    pub(super) streamed: String,
    /// The streamed response of [`ResponseMode::Pieces`], rendered once.
    pub(super) pieces: String,
    pub(super) full: String,
    /// The streamed call of [`ResponseMode::Calling`], rendered once.
    pub(super) call: String,
}

impl Upstream {
    /// Starts on a free port.
    pub fn start() -> Result<Self> {
        Self::start_on(Self::reserve()?)
    }

    /// Reserves a port without listening on it: connections are refused.
    pub fn reserve() -> Result<TcpSocket> {
        let reserve = || {
            let socket = TcpSocket::new_v4()?;
            socket.bind(([127, 0, 0, 1], 0).into())?;
            io::Result::Ok(socket)
        };
        reserve().context("no free port for the upstream")
    }

    /// Starts on a reserved port.
    pub fn start_on(socket: TcpSocket) -> Result<Self> {
        let address = socket.local_addr();
        let address = address.context("the upstream has no address")?;
        let state = Arc::new(State {
            open: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            is_repaired: AtomicBool::new(false),
            streamed: sized("200 OK", "", EVENTS, &payload::streamed()),
            pieces: chunked(payload::pieces(PIECES)),
            full: sized("200 OK", "", JSON, &payload::full()),
            call: sized("200 OK", "", EVENTS, &payload::call()),
        });
        let (stop, stopped) = oneshot::channel();
        let (started, starting) = mpsc::channel();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let served = runtime()
                .and_then(|runtime| runtime.block_on(serve_all(socket, shared, &started, stopped)));
            if let Err(error) = served {
                // The receiver exists only until the double listens.
                let _ = started.send(Err(error));
            }
        });
        let listening = starting.recv().context("the upstream has ended")?;
        listening.context("the upstream cannot listen")?;
        Ok(Self {
            address,
            state,
            _stop: stop,
        })
    }

    /// The base URL of an engine whose requests are answered in this mode.
    pub fn base_url(&self, mode: ResponseMode) -> String {
        format!("http://{}/{}/v1", self.address, mode.name())
    }

    /// Answers all further requests at once, whatever their mode.
    pub fn repair(&self) {
        self.state.is_repaired.store(true, Ordering::SeqCst);
    }

    /// The number of open connections.
    pub fn open_connections(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }

    /// The number of requests in progress.
    pub fn requests_in_progress(&self) -> usize {
        self.state.busy.load(Ordering::SeqCst)
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }
}

/// Listens, reports that on `started`, and serves until `stopped`.
async fn serve_all(
    socket: TcpSocket,
    state: Arc<State>,
    started: &mpsc::Sender<Result<()>>,
    stopped: oneshot::Receiver<()>,
) -> Result<()> {
    let listener = socket.listen(BACKLOG)?;
    started.send(Ok(()))?;
    tokio::select! {
        () = accept(listener, state) => {}
        _ = stopped => {}
    }
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection.
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, Arc::clone(&state)));
            while connections.try_join_next().is_some() {}
        }
    }
}
