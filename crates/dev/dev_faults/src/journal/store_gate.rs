//! A relay between a node and Postgres that stops at a write: before it, or once it is committed and before
//! the node knows.

use std::{
    future::pending,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use super::postgres_messages::{Statements, Write, is_start, take};

/// A side of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The write does not reach the server.
    Before,
    /// The write is committed, and the node is not told.
    After,
}

/// A relay. Dropping it closes all connections.
pub(super) struct StoreGate {
    /// The server's URL for the node.
    pub(super) url: String,
    gate: Arc<Gate>,
    _task: JoinSet<()>,
}

#[derive(Default)]
struct Gate {
    /// The write at which the relay stops, and how many such writes pass before.
    armed: Mutex<Option<(Write, Side, u32)>>,
    /// True once the relay has stopped.
    is_tripped: watch::Sender<bool>,
    /// The number of times that all connections were closed.
    closings: watch::Sender<u64>,
    is_closed: AtomicBool,
}

impl StoreGate {
    /// Starts a relay to the server of `url`.
    pub(super) async fn start(url: &str) -> Result<Self> {
        let (credentials, rest) = url.split_once('@').context("the URL has another form")?;
        let (server, database) = rest.split_once('/').context("the URL has another form")?;
        let server: SocketAddr = server.parse().context("the server's address")?;
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("no free port for the relay")?;
        let address = listener.local_addr().context("the relay has no address")?;
        let gate = Arc::new(Gate::default());
        let mut task = JoinSet::new();
        task.spawn(accept(listener, server, Arc::clone(&gate)));
        Ok(Self {
            url: format!("{credentials}@{address}/{database}"),
            gate,
            _task: task,
        })
    }

    /// Stops at the next write of this kind, after `passing` others.
    pub(super) fn arm(&self, write: Write, side: Side, passing: u32) {
        self.gate.is_tripped.send_replace(false);
        *self.gate.armed.lock() = Some((write, side, passing));
    }

    /// Waits until the relay has stopped at the write. Returns false if it has not in time.
    pub(super) async fn wait(&self, most: Duration) -> bool {
        let mut tripped = self.gate.is_tripped.subscribe();
        let waited = timeout(most, tripped.wait_for(|is_tripped| *is_tripped)).await;
        waited.is_ok_and(|tripped| tripped.is_ok())
    }

    /// Closes all connections; new ones too, until they are opened again.
    pub(super) fn close(&self) {
        self.gate.is_closed.store(true, Ordering::SeqCst);
        self.gate.closings.send_modify(|closings| *closings += 1);
    }

    /// Lets everything pass; connections that have stopped are closed.
    pub(super) fn open(&self) {
        *self.gate.armed.lock() = None;
        self.gate.is_closed.store(false, Ordering::SeqCst);
        if self.gate.is_tripped.send_replace(false) {
            self.gate.closings.send_modify(|closings| *closings += 1);
        }
    }
}

impl Gate {
    /// Returns the side on which to stop at a write of these kinds, once.
    fn take(&self, writes: &[Write]) -> Option<Side> {
        let mut armed = self.armed.lock();
        let (write, side, passing) = armed.as_mut()?;
        if !writes.contains(write) {
            return None;
        }
        if *passing > 0 {
            *passing -= 1;
            return None;
        }
        let side = *side;
        *armed = None;
        Some(side)
    }

    /// Reports that the relay has stopped, and never returns.
    async fn stop(&self) {
        self.is_tripped.send_replace(true);
        pending::<()>().await;
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, gate: Arc<Gate>) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection.
        if let Ok((node, _)) = listener.accept().await
            && !gate.is_closed.load(Ordering::SeqCst)
        {
            connections.spawn(relay(node, server, Arc::clone(&gate)));
            while connections.try_join_next().is_some() {}
        }
    }
}

/// Passes messages until an end is closed, or all connections are.
async fn relay(node: TcpStream, server: SocketAddr, gate: Arc<Gate>) -> Result<()> {
    let mut closings = gate.closings.subscribe();
    let server = TcpStream::connect(server).await?;
    node.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_node, to_node) = node.into_split();
    let (from_server, to_server) = server.into_split();
    let holds_answer = AtomicBool::new(false);
    tokio::select! {
        passed = pass_up(from_node, to_server, &gate, &holds_answer) => passed,
        passed = pass_down(from_server, to_node, &gate, &holds_answer) => passed,
        _ = closings.changed() => Ok(()),
    }
}

/// Passes the messages of the node.
async fn pass_up(
    mut node: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    gate: &Gate,
    holds_answer: &AtomicBool,
) -> Result<()> {
    let (mut buffer, mut has_started) = (Vec::new(), false);
    let mut statements = Statements::default();
    while node.read_buf(&mut buffer).await? > 0 {
        while let Some(message) = take(&mut buffer, has_started) {
            if !has_started {
                has_started = is_start(&message);
            } else if let Some(writes) = statements.writes(&message) {
                match gate.take(writes) {
                    Some(Side::Before) => gate.stop().await,
                    Some(Side::After) => holds_answer.store(true, Ordering::SeqCst),
                    None => {}
                }
            }
            server.write_all(&message).await?;
        }
    }
    Ok(())
}

/// Passes the messages of the server; holds the answer to a write from its commit on.
async fn pass_down(
    mut server: OwnedReadHalf,
    mut node: OwnedWriteHalf,
    gate: &Gate,
    holds_answer: &AtomicBool,
) -> Result<()> {
    let (mut buffer, mut answer) = (Vec::new(), Vec::new());
    while server.read_buf(&mut buffer).await? > 0 {
        // The refusal of encryption is a single byte.
        if buffer == b"N" {
            node.write_all(&buffer).await?;
            buffer.clear();
        }
        while let Some(message) = take(&mut buffer, true) {
            let status = (message[0] == b'Z').then(|| message[5]);
            answer.extend(message);
            if holds_answer.load(Ordering::SeqCst) {
                match status {
                    // Still in the transaction.
                    Some(b'T') => {}
                    Some(_) => gate.stop().await,
                    None => continue,
                }
            }
            node.write_all(&answer).await?;
            answer.clear();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_once_at_the_armed_write() {
        let gate = Gate::default();
        *gate.armed.lock() = Some((Write::Steps, Side::After, 1));
        assert_eq!(gate.take(&[Write::End]), None);
        assert_eq!(gate.take(&[Write::Steps]), None);
        assert_eq!(gate.take(&[Write::Steps]), Some(Side::After));
        assert_eq!(gate.take(&[Write::Steps]), None);
    }
}
