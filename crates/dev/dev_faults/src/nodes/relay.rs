//! A relay between a node and Postgres or Redis, which can cut the node off.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::server_stream::{Protocol, ServerStream};

/// The statements by which the connections of the bus to Postgres are recognised. All connections to
/// Redis are those of the bus.
const BUS_STATEMENTS: [&[u8]; 2] = [b"LISTEN \"agent_service_", b"pg_notify("];
const BUFFER_BYTES: usize = 64 * 1024;

/// The state of a kind of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Bytes pass.
    Open,
    /// Bytes pass; signals are repeated, and in another order.
    Shuffled,
    /// Bytes wait, and connections stay open.
    Stalled,
    /// Connections are closed, and new ones too.
    Closed,
}

/// A relay. Dropping it closes all connections.
pub(super) struct Relay {
    /// The server's URL of the node.
    pub(super) url: String,
    links: Arc<Links>,
    _task: JoinSet<()>,
}

/// The states of both kinds of connections, and how often a connection was not open, or was closed by
/// the server.
struct Links {
    protocol: Protocol,
    bus: watch::Sender<Link>,
    store: watch::Sender<Link>,
    cut: AtomicUsize,
    closed_by_server: AtomicUsize,
}

impl Relay {
    /// Starts a relay to the Postgres server of `url`.
    pub(super) async fn start_postgres(url: &str) -> Result<Self> {
        let (credentials, rest) = url.split_once('@').context("the URL has another form")?;
        let (server, database) = rest.split_once('/').context("the URL has another form")?;
        let server = server.parse().context("the server's address")?;
        let url = |address| format!("{credentials}@{address}/{database}");
        Self::start(Protocol::Postgres, server, url).await
    }

    /// Starts a relay to the Redis server on this port.
    pub(super) async fn start_redis(port: u16) -> Result<Self> {
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let url = |address| format!("redis://{address}");
        Self::start(Protocol::Redis, server, url).await
    }

    async fn start(
        protocol: Protocol,
        server: SocketAddr,
        url: impl FnOnce(SocketAddr) -> String,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.context("no free port for the relay")?;
        let address = listener.local_addr().context("the relay has no address")?;
        let links = Arc::new(Links {
            protocol,
            bus: watch::Sender::new(Link::Open),
            store: watch::Sender::new(Link::Open),
            cut: AtomicUsize::new(0),
            closed_by_server: AtomicUsize::new(0),
        });
        let mut task = JoinSet::new();
        task.spawn(accept(listener, server, Arc::clone(&links)));
        Ok(Self {
            url: url(address),
            links,
            _task: task,
        })
    }

    /// Changes the connections of the bus.
    pub(super) fn set_bus(&self, link: Link) {
        self.links.bus.send_replace(link);
    }

    /// Changes the connections of the store.
    pub(super) fn set_store(&self, link: Link) {
        self.links.store.send_replace(link);
    }

    /// The number of times that a connection was not open.
    pub(super) fn cut(&self) -> usize {
        self.links.cut.load(Ordering::Relaxed)
    }

    /// The number of connections that the server closed.
    pub(super) fn closed_by_server(&self) -> usize {
        self.links.closed_by_server.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, links: Arc<Links>) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection.
        if let Ok((node, _)) = listener.accept().await {
            let links = Arc::clone(&links);
            connections.spawn(async move {
                if let Ok(server) = TcpStream::connect(server).await {
                    let relayed = Relayed::new(node, server, links);
                    // An error is the end of one side.
                    let _ = relayed.pass().await;
                }
            });
            while connections.try_join_next().is_some() {}
        }
    }
}

/// A connection through the relay.
struct Relayed {
    node: TcpStream,
    server: TcpStream,
    links: Arc<Links>,
    link: watch::Receiver<Link>,
    is_of_bus: bool,
}

impl Relayed {
    fn new(node: TcpStream, server: TcpStream, links: Arc<Links>) -> Self {
        let is_of_bus = links.protocol == Protocol::Redis;
        let link = if is_of_bus {
            links.bus.subscribe()
        } else {
            // Each is one of the bus once its statements show that.
            links.store.subscribe()
        };
        Self {
            node,
            server,
            links,
            link,
            is_of_bus,
        }
    }

    /// Passes bytes until an end is closed or the connection is cut.
    async fn pass(mut self) -> std::io::Result<()> {
        self.node.set_nodelay(true)?;
        self.server.set_nodelay(true)?;
        let mut stream = ServerStream::new(self.links.protocol);
        let (mut up, mut down) = (vec![0; BUFFER_BYTES], vec![0; BUFFER_BYTES]);
        while self.may_pass().await {
            tokio::select! {
                read = self.node.read(&mut up) => {
                    let bytes = &up[..read?];
                    self.recognise(bytes);
                    if bytes.is_empty() || !self.may_pass().await {
                        break;
                    }
                    self.server.write_all(bytes).await?;
                }
                read = self.server.read(&mut down) => {
                    let bytes = &down[..read.unwrap_or_default()];
                    if bytes.is_empty() {
                        self.links.closed_by_server.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    if !self.may_pass().await {
                        break;
                    }
                    let is_shuffled = *self.link.borrow() == Link::Shuffled;
                    self.node.write_all(&stream.pass(bytes, is_shuffled)).await?;
                }
                changed = self.link.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn recognise(&mut self, bytes: &[u8]) {
        let contains = |text: &&[u8]| bytes.windows(text.len()).any(|it| it == *text);
        if !self.is_of_bus && BUS_STATEMENTS.iter().any(contains) {
            self.is_of_bus = true;
            self.link = self.links.bus.subscribe();
        }
    }

    /// Waits while the connection is stalled, and returns false if it is cut.
    async fn may_pass(&mut self) -> bool {
        let link = *self.link.borrow_and_update();
        if link != Link::Open {
            self.links.cut.fetch_add(1, Ordering::Relaxed);
        }
        let waited = self.link.wait_for(|link| *link != Link::Stalled).await;
        waited.is_ok_and(|link| *link != Link::Closed)
    }
}
