//! A TCP proxy in front of the server that can cut or silence connections.

use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_util::task::TaskTracker;

/// The state of all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// All data is forwarded.
    Up,
    /// Connections are closed.
    Cut,
    /// Connections stay open, and no data is forwarded.
    Silent,
}

/// A proxy that listens on its own port.
pub(crate) struct Proxy {
    link: Arc<watch::Sender<Link>>,
    port: u16,
}

impl Proxy {
    /// Starts a proxy in front of the server of `options`.
    pub(crate) async fn start(options: &PgConnectOptions) -> Self {
        let server = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound port").port();
        let link = Arc::new(watch::Sender::new(Link::Up));
        let (state, tasks) = (Arc::clone(&link), TaskTracker::new());
        let connections = tasks.clone();
        tasks.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server");
                connections.spawn(forward(client, server, state.subscribe()));
            }
        });
        Self { link, port }
    }

    /// The options of a connection through this proxy.
    pub(crate) fn options(&self, options: PgConnectOptions) -> PgConnectOptions {
        options.host("127.0.0.1").port(self.port)
    }

    pub(crate) fn set(&self, link: Link) {
        self.link.send_replace(link);
    }
}

/// Forwards one connection until one end closes it or it is cut.
async fn forward(mut client: TcpStream, mut server: TcpStream, mut link: watch::Receiver<Link>) {
    let mut request = vec![0; 64 * 1024];
    let mut response = vec![0; 64 * 1024];
    loop {
        let state = *link.borrow_and_update();
        match state {
            Link::Cut => return,
            Link::Silent => {
                if link.changed().await.is_err() {
                    return;
                }
            }
            Link::Up => tokio::select! {
                changed = link.changed() => if changed.is_err() { return },
                length = client.read(&mut request) => {
                    let Ok(length @ 1..) = length else { return };
                    let Ok(()) = server.write_all(&request[..length]).await else { return };
                }
                length = server.read(&mut response) => {
                    let Ok(length @ 1..) = length else { return };
                    let Ok(()) = client.write_all(&response[..length]).await else { return };
                }
            },
        }
    }
}
