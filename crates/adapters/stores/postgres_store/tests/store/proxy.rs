//! A TCP proxy in front of the server that can cause faults.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use sqlx::postgres::PgConnectOptions;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::TaskTracker;

/// The behaviour of the proxy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProxyFault {
    /// All data is forwarded.
    None,
    /// The next commit does not reach the server. The fault then ends.
    LosesNextCommit,
    /// The response to the next commit does not reach the client. The fault then ends.
    LosesNextResponse,
    /// No data is forwarded in either direction, and connections stay open.
    Silent,
}

/// A proxy that listens on its own port.
pub(crate) struct FaultyProxy {
    fault: Arc<Mutex<ProxyFault>>,
    requests: Arc<AtomicUsize>,
    address: SocketAddr,
}

impl FaultyProxy {
    /// Starts a proxy without faults in front of the server of `options`.
    pub(crate) async fn start(options: &PgConnectOptions) -> Self {
        let server = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let fault = Arc::new(Mutex::new(ProxyFault::None));
        let shared = Arc::clone(&fault);
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let tasks = TaskTracker::new();
        let connections = tasks.clone();
        tasks.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server");
                connections.spawn(forward(
                    client,
                    server,
                    Arc::clone(&shared),
                    Arc::clone(&counter),
                ));
            }
        });
        Self {
            fault,
            requests,
            address,
        }
    }

    /// The number of requests so far, each of which is answered before the next.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// The connection options for the server through this proxy.
    pub(crate) fn options(&self, options: &PgConnectOptions) -> PgConnectOptions {
        options
            .clone()
            .host(&self.address.ip().to_string())
            .port(self.address.port())
    }

    /// Returns true if the proxy has no fault: the configured fault has happened.
    pub(crate) fn is_sound(&self) -> bool {
        *self.fault.lock().expect("the lock is not poisoned") == ProxyFault::None
    }

    /// Sets the fault.
    pub(crate) fn set(&self, fault: ProxyFault) {
        *self.fault.lock().expect("the lock is not poisoned") = fault;
    }
}

/// Forwards one connection until one end closes it or a fault cuts it. Dropping both sockets cuts
/// the connection.
async fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    fault: Arc<Mutex<ProxyFault>>,
    requests: Arc<AtomicUsize>,
) {
    let mut request = vec![0; 64 * 1024];
    let mut response = vec![0; 64 * 1024];
    let mut in_transaction = false;
    loop {
        tokio::select! {
            length = client.read(&mut request) => {
                let Ok(length @ 1..) = length else { return };
                requests.fetch_add(1, Ordering::SeqCst);
                let is_commit = is_commit(&request[..length], &mut in_transaction);
                match apply_fault(&fault, is_commit) {
                    ProxyFault::None => {
                        let Ok(()) = server.write_all(&request[..length]).await else { return };
                    }
                    ProxyFault::LosesNextCommit => return,
                    ProxyFault::LosesNextResponse => {
                        let Ok(()) = server.write_all(&request[..length]).await else { return };
                        // The server responds after the commit.
                        let _ = server.read(&mut response).await;
                        return;
                    }
                    ProxyFault::Silent => {}
                }
            }
            length = server.read(&mut response) => {
                let Ok(length @ 1..) = length else { return };
                let is_silent = *fault.lock().expect("the lock is not poisoned") == ProxyFault::Silent;
                if !is_silent {
                    let Ok(()) = client.write_all(&response[..length]).await else { return };
                }
            }
        }
    }
}

/// The types of events and a scope of keys, which only writes contain.
const WRITTEN: [&[u8]; 4] = [b"turn.", b"agent.", b"conversation.", b"agents:read"];

/// Returns whether a request commits: it ends a transaction, or writes an event or a key outside a
/// transaction.
fn is_commit(request: &[u8], in_transaction: &mut bool) -> bool {
    let contains = |text: &[u8]| request.windows(text.len()).any(|part| part == text);
    *in_transaction |= contains(b"BEGIN");
    if *in_transaction {
        let ends = contains(b"COMMIT");
        *in_transaction = !ends && !contains(b"ROLLBACK");
        ends
    } else {
        WRITTEN.into_iter().any(contains)
    }
}

/// Returns the fault that applies to a request. Faults only affect commits, and end with them.
fn apply_fault(fault: &Mutex<ProxyFault>, is_commit: bool) -> ProxyFault {
    let mut fault = fault.lock().expect("the lock is not poisoned");
    match *fault {
        active @ (ProxyFault::LosesNextCommit | ProxyFault::LosesNextResponse) if is_commit => {
            *fault = ProxyFault::None;
            active
        }
        ProxyFault::LosesNextCommit | ProxyFault::LosesNextResponse => ProxyFault::None,
        state => state,
    }
}
