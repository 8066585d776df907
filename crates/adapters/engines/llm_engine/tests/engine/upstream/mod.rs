//! An HTTP/1.1 server that follows the steps of a test, byte by byte.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::sleep,
};

pub(crate) use anthropic::*;
pub(crate) use responses::*;

mod anthropic;
mod responses;

/// A step of the server after it has read a request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Waits until the test opens the gate.
    Gate,
    /// Sends nothing more until the client disconnects.
    Hang,
    /// Sends the same bytes repeatedly until the client disconnects.
    Repeat(Vec<u8>),
    /// Closes the connection.
    Cut,
}

/// The steps of one response.
pub(crate) type Response = Vec<Step>;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// Method and target.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// The server. Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    responses: Vec<Response>,
    requests: Mutex<Vec<ReceivedRequest>>,
    seen: watch::Sender<Seen>,
    gate: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    requests: usize,
    connections: usize,
    /// Connections that the client closed during a response.
    abandoned: usize,
}

impl Upstream {
    /// Starts a server that returns these responses in order, and then repeats the last.
    pub(crate) async fn start(responses: impl IntoIterator<Item = Response>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            responses: responses.into_iter().collect(),
            requests: Mutex::default(),
            seen: watch::Sender::default(),
            gate: watch::Sender::default(),
        });
        let mut tasks = JoinSet::new();
        let serving = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connection.set_nodelay(true).expect("a socket");
                serving.seen.send_modify(|seen| seen.connections += 1);
                connections.spawn(Arc::clone(&serving).serve(connection));
            }
        });
        Self {
            address,
            shared,
            _tasks: tasks,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared
            .requests
            .lock()
            .expect("no test panicked")
            .clone()
    }

    /// The bodies of the requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.requests()
            .into_iter()
            .map(|request| request.body)
            .collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.seen.borrow().connections
    }

    pub(crate) fn open_gate(&self) {
        self.shared.gate.send_replace(true);
    }

    pub(crate) async fn wait_for_requests(&self, times: usize) {
        let mut seen = self.shared.seen.subscribe();
        let waited = seen.wait_for(|seen| seen.requests >= times).await;
        waited.expect("the server lives");
    }

    /// Waits until a client disconnects during a response.
    pub(crate) async fn wait_until_abandoned(&self) {
        let mut seen = self.shared.seen.subscribe();
        let abandoned = seen.wait_for(|seen| seen.abandoned > 0).await;
        abandoned.expect("the server lives");
    }
}

impl Shared {
    async fn serve(self: Arc<Self>, mut connection: TcpStream) {
        while let Some(request) = read_request(&mut connection).await {
            let number = {
                let mut all = self.requests.lock().expect("no test panicked");
                all.push(request);
                all.len() - 1
            };
            self.seen.send_modify(|seen| seen.requests += 1);
            let response = self
                .responses
                .get(number)
                .or(self.responses.last())
                .expect("a response");
            for step in response {
                if self.take(step, &mut connection).await.is_none() {
                    return;
                }
            }
        }
    }

    /// Executes a step. Returns `None` if the connection has ended.
    async fn take(&self, step: &Step, connection: &mut TcpStream) -> Option<()> {
        match step {
            Step::Send(bytes) => self.send(connection, bytes).await?,
            Step::Pause(time) => {
                tokio::select! {
                    () = sleep(*time) => {}
                    () = wait_for_close(connection) => return self.abandoned(),
                }
            }
            Step::Gate => {
                let mut gate = self.gate.subscribe();
                let _ = gate.wait_for(|open| *open).await.ok()?;
            }
            Step::Hang => {
                wait_for_close(connection).await;
                return self.abandoned();
            }
            Step::Repeat(bytes) => loop {
                self.send(connection, bytes).await?;
            },
            Step::Cut => return None,
        }
        Some(())
    }

    async fn send(&self, connection: &mut TcpStream, bytes: &[u8]) -> Option<()> {
        match connection.write_all(bytes).await {
            Ok(()) => Some(()),
            Err(_) => self.abandoned(),
        }
    }

    fn abandoned(&self) -> Option<()> {
        self.seen.send_modify(|seen| seen.abandoned += 1);
        None
    }
}

/// Waits until the client closes the connection.
async fn wait_for_close(connection: &mut TcpStream) {
    let mut rest = [0; 64];
    while connection.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

async fn read_request(connection: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).expect("text");
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().expect("a line").trim_end_matches(" HTTP/1.1");
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").expect("a header");
        (name.to_ascii_lowercase(), value.to_owned())
    });
    let mut received = ReceivedRequest {
        line: line.to_owned(),
        headers: headers.collect(),
        body: Value::Null,
    };
    if let Some(length) = received.header("content-length") {
        let mut body = vec![0; length.parse().expect("a length")];
        connection.read_exact(&mut body).await.ok()?;
        received.body = serde_json::from_slice(&body).expect("JSON");
    }
    Some(received)
}
