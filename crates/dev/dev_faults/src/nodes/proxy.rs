//! A load balancer: spreads connections over the nodes whose `/readyz` succeeds.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{Method, send},
};
use parking_lot::Mutex;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, sleep},
};

/// The pause between two checks of a node.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The longest that a node may take to answer a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest until a node that was added is used.
const READY: Duration = Duration::from_secs(15);

/// A load balancer. Dropping it closes all connections.
pub(super) struct Proxy {
    endpoint: Endpoint,
    nodes: BalancedNodes,
    _tasks: JoinSet<()>,
}

/// The nodes behind a load balancer.
#[derive(Clone, Default)]
struct BalancedNodes(Arc<Mutex<Balance>>);

#[derive(Default)]
struct Balance {
    nodes: Vec<BalancedNode>,
    /// Counts connections.
    next: usize,
    /// Connections that were closed because no node was ready.
    unserved: usize,
}

#[derive(Clone)]
struct BalancedNode {
    endpoint: Endpoint,
    is_ready: bool,
}

impl Proxy {
    /// Starts without nodes; its endpoint has the credential of `endpoint`.
    pub(super) async fn start(endpoint: &Endpoint) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("no free port for the proxy")?;
        let address = listener.local_addr().context("the proxy has no address")?;
        let (nodes, mut tasks) = (BalancedNodes::default(), JoinSet::new());
        tasks.spawn(accept(listener, nodes.clone()));
        tasks.spawn(check(nodes.clone()));
        Ok(Self {
            endpoint: Endpoint {
                address,
                ..endpoint.clone()
            },
            nodes,
            _tasks: tasks,
        })
    }

    /// The endpoint of clients.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.endpoint.clone()
    }

    /// Adds a node, and waits until it is used.
    pub(super) async fn add(&self, endpoint: Endpoint) -> Result<()> {
        let address = endpoint.address;
        self.nodes.0.lock().nodes.push(BalancedNode {
            endpoint,
            is_ready: false,
        });
        let deadline = Instant::now() + READY;
        while !self.nodes.are_ready(address) {
            if Instant::now() > deadline {
                bail!("the node at {address} is not ready after {READY:?}");
            }
            sleep(CHECK_INTERVAL / 2).await;
        }
        Ok(())
    }

    /// The number of connections that were closed because no node was ready.
    pub(super) fn unserved(&self) -> usize {
        self.nodes.0.lock().unserved
    }

    /// Removes a node. Its connections stay open.
    pub(super) fn remove(&self, address: SocketAddr) {
        let mut balance = self.nodes.0.lock();
        balance
            .nodes
            .retain(|node| node.endpoint.address != address);
    }
}

impl BalancedNodes {
    fn are_ready(&self, address: SocketAddr) -> bool {
        let balance = self.0.lock();
        let mut nodes = balance.nodes.iter();
        nodes.any(|node| node.endpoint.address == address && node.is_ready)
    }

    /// The nodes that are ready, beginning with another one each time.
    fn in_turn(&self) -> Vec<SocketAddr> {
        let mut balance = self.0.lock();
        balance.next = balance.next.wrapping_add(1);
        let ready = balance.nodes.iter().filter(|node| node.is_ready);
        let mut ready: Vec<_> = ready.map(|node| node.endpoint.address).collect();
        if let Some(first) = balance.next.checked_rem(ready.len()) {
            ready.rotate_left(first);
        }
        ready
    }

    fn set_ready(&self, address: SocketAddr, is_ready: bool) {
        let mut balance = self.0.lock();
        let nodes = balance.nodes.iter_mut();
        for node in nodes.filter(|node| node.endpoint.address == address) {
            node.is_ready = is_ready;
        }
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        let balance = self.0.lock();
        balance
            .nodes
            .iter()
            .map(|node| node.endpoint.clone())
            .collect()
    }
}

/// Checks all nodes repeatedly.
async fn check(nodes: BalancedNodes) {
    loop {
        let mut checks = JoinSet::new();
        for endpoint in nodes.endpoints() {
            let nodes = nodes.clone();
            checks.spawn(async move {
                let request = endpoint.http(Method::GET, "/readyz");
                let response = send(request, CHECK_TIMEOUT).await;
                let is_ready = response.is_ok_and(|response| response.status == 200);
                nodes.set_ready(endpoint.address, is_ready);
            });
        }
        checks.join_all().await;
        sleep(CHECK_INTERVAL).await;
    }
}

async fn accept(listener: TcpListener, nodes: BalancedNodes) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection.
        if let Ok((client, _)) = listener.accept().await {
            connections.spawn(pass(client, nodes.clone()));
            while connections.try_join_next().is_some() {}
        }
    }
}

/// Passes the bytes of a connection to the first node that accepts it.
async fn pass(mut client: TcpStream, nodes: BalancedNodes) {
    for address in nodes.in_turn() {
        let Ok(mut node) = TcpStream::connect(address).await else {
            nodes.set_ready(address, false);
            continue;
        };
        if client.set_nodelay(true).is_ok() && node.set_nodelay(true).is_ok() {
            // An error is the end of one side, as of a killed node.
            let _ = copy_bidirectional(&mut client, &mut node).await;
        }
        return;
    }
    nodes.0.lock().unserved += 1;
}
