//! Accepts the connections of a link.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use super::{connection::relay, link::LinkState};

/// The number of connections that may wait for `accept`.
const QUEUE: i32 = 1_024;
/// The time in which a connection within this machine is open, unless the queue is full.
const CONNECTED: Duration = Duration::from_millis(100);

/// Accepts connections until it is aborted. While the link is cut, the system drops the first packet
/// of each, and the client repeats it.
pub(super) async fn accept(
    listener: std::net::TcpListener,
    mut state: watch::Receiver<LinkState>,
    count: Arc<AtomicUsize>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut queue = Queue::default();
    let mut connections = JoinSet::new();
    loop {
        let is_cut = state.borrow_and_update().is_cut;
        queue.set_closed(&listener, is_cut).await;
        tokio::select! {
            accepted = listener.accept(), if !is_cut => match accepted {
                Ok((client, address)) if !queue.is_placeholder(address) => {
                    count.fetch_add(1, Ordering::Relaxed);
                    connections.spawn(relay(client, state.clone()));
                    while connections.try_join_next().is_some() {}
                }
                // An error concerns one connection.
                Ok(_) | Err(_) => {}
            },
            changed = state.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

/// The system's queue of connections that wait for `accept`.
#[derive(Default)]
struct Queue {
    is_closed: bool,
    /// Takes the only place in a closed queue.
    placeholder: Option<TcpStream>,
}

impl Queue {
    async fn set_closed(&mut self, listener: &TcpListener, is_closed: bool) {
        if self.is_closed == is_closed {
            return;
        }
        self.is_closed = is_closed;
        // A failure would leave the queue as it is: clients then connect, and nothing is relayed.
        let length = if is_closed { 0 } else { QUEUE };
        let _ = SockRef::from(listener).listen(length);
        if let (true, Ok(address)) = (is_closed, listener.local_addr()) {
            let connected = timeout(CONNECTED, TcpStream::connect(address)).await;
            self.placeholder = connected.ok().and_then(Result::ok);
        }
    }

    fn is_placeholder(&self, client: SocketAddr) -> bool {
        let placeholder = self.placeholder.as_ref();
        placeholder.is_some_and(|it| it.local_addr().is_ok_and(|address| address == client))
    }
}
