//! A link between two places.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{runtime::Handle, sync::watch, task::JoinSet};

use super::listener::accept;

/// A link: every connection to its address becomes one to its target, with the delay of the
/// distance. Its bandwidth is not limited. Dropping it closes all connections.
///
/// A new connection transfers nothing for a round trip, as during the handshake of TCP. Every byte
/// is delivered half a round trip after it was sent, in order. While the link is cut, connections
/// stay open and transfer nothing, and new ones do not open; afterwards each continues when TCP
/// repeats its first lost packet, which takes longer the longer the cut was.
pub struct Link {
    /// The address for clients.
    pub address: SocketAddr,
    state: watch::Sender<LinkState>,
    connections: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

/// The properties of a link.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkState {
    pub(super) target: Option<SocketAddr>,
    pub(super) round_trip: Duration,
    /// A delay of the bytes from the target, in addition to the distance.
    pub(super) lag: Duration,
    pub(super) is_cut: bool,
    /// The number of packets of which one is lost; 0 if none is.
    pub(super) loss: u32,
}

impl Link {
    /// Opens a link without target, which closes connections, on a free port. It runs on `runtime`.
    pub fn open(runtime: &Handle, round_trip: Duration) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.context("no free port for a link")?;
        let address = listener.local_addr().context("a link without address")?;
        listener
            .set_nonblocking(true)
            .context("a link that blocks")?;
        let state = watch::Sender::new(LinkState {
            round_trip,
            ..LinkState::default()
        });
        let connections = Arc::default();
        let mut task = JoinSet::new();
        task.spawn_on(
            accept(listener, state.subscribe(), Arc::clone(&connections)),
            runtime,
        );
        Ok(Self {
            address,
            state,
            connections,
            _task: task,
        })
    }

    /// Sets the target of further connections.
    pub fn lead_to(&self, target: SocketAddr) {
        self.state.send_modify(|state| state.target = Some(target));
    }

    /// Changes the distance.
    pub fn set_round_trip(&self, round_trip: Duration) {
        self.state
            .send_modify(|state| state.round_trip = round_trip);
    }

    /// Delays the bytes from the target in addition to the distance.
    pub fn set_lag(&self, lag: Duration) {
        self.state.send_modify(|state| state.lag = lag);
    }

    /// Loses one of `packets` packets; none if that is 0. A lost packet arrives a round trip later,
    /// and all bytes after it wait.
    pub fn lose_one_of(&self, packets: u32) {
        self.state.send_modify(|state| state.loss = packets);
    }

    /// Stops all transfers.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.is_cut = true);
    }

    /// Continues the transfers.
    pub fn heal(&self) {
        self.state.send_modify(|state| state.is_cut = false);
    }

    /// The round trip.
    pub fn round_trip(&self) -> Duration {
        self.state.borrow().round_trip
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}
