//! A wire to the server that can be cut where it hurts.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use sqlx::postgres::PgConnectOptions;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::TaskTracker;

/// What the wire does with what passes through it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// It works.
    Whole,
    /// The next commit does not reach the server; then it is whole again.
    LosesNextCommit,
    /// The answer to the next commit does not reach the client; then it is whole again.
    LosesNextAnswer,
    /// Nothing gets through, in either direction, and nobody is told.
    Silent,
}

/// A wire that listens on a port of its own.
pub(crate) struct Cuttable {
    wire: Arc<Mutex<Wire>>,
    address: SocketAddr,
}

impl Cuttable {
    /// A whole wire to the server that `options` name.
    pub(crate) async fn to(options: &PgConnectOptions) -> Self {
        let server = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let wire = Arc::new(Mutex::new(Wire::Whole));
        let shared = Arc::clone(&wire);
        let tasks = TaskTracker::new();
        let connections = tasks.clone();
        tasks.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server");
                connections.spawn(carry(client, server, Arc::clone(&shared)));
            }
        });
        Self { wire, address }
    }

    /// How to reach the server through this wire.
    pub(crate) fn options(&self, options: &PgConnectOptions) -> PgConnectOptions {
        options
            .clone()
            .host(&self.address.ip().to_string())
            .port(self.address.port())
    }

    /// Whether it works: a fault that was waited for has happened.
    pub(crate) fn is_whole(&self) -> bool {
        *self.wire.lock().expect("no panic holds it") == Wire::Whole
    }

    /// From now on the wire is so.
    pub(crate) fn set(&self, wire: Wire) {
        *self.wire.lock().expect("no panic holds it") = wire;
    }
}

/// Carries one connection until one end closes it or the wire is cut; dropping both sockets is
/// the cut.
async fn carry(mut client: TcpStream, mut server: TcpStream, wire: Arc<Mutex<Wire>>) {
    let mut asked = vec![0; 64 * 1024];
    let mut answered = vec![0; 64 * 1024];
    loop {
        tokio::select! {
            length = client.read(&mut asked) => {
                let Ok(length @ 1..) = length else { return };
                match through(&wire, &asked[..length]) {
                    Wire::Whole => {
                        let Ok(()) = server.write_all(&asked[..length]).await else { return };
                    }
                    Wire::LosesNextCommit => return,
                    Wire::LosesNextAnswer => {
                        let Ok(()) = server.write_all(&asked[..length]).await else { return };
                        // Once it has answered, it has committed.
                        let _ = server.read(&mut answered).await;
                        return;
                    }
                    Wire::Silent => {}
                }
            }
            length = server.read(&mut answered) => {
                let Ok(length @ 1..) = length else { return };
                let is_silent = *wire.lock().expect("no panic holds it") == Wire::Silent;
                if !is_silent {
                    let Ok(()) = client.write_all(&answered[..length]).await else { return };
                }
            }
        }
    }
}

/// What becomes of `request`: the wire's faults are about commits alone, and mend afterwards.
fn through(wire: &Mutex<Wire>, request: &[u8]) -> Wire {
    let mut wire = wire.lock().expect("no panic holds it");
    let is_commit = request.windows(6).any(|part| part == b"COMMIT");
    match *wire {
        fault @ (Wire::LosesNextCommit | Wire::LosesNextAnswer) if is_commit => {
            *wire = Wire::Whole;
            fault
        }
        Wire::LosesNextCommit | Wire::LosesNextAnswer => Wire::Whole,
        state => state,
    }
}
