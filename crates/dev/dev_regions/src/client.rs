//! A client in a region.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method, RequestError, Response, send},
    socket::Socket,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    operation::{Call, Operation},
    workload::Workload,
};

/// The longest that a response may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// The header with a position of the log.
pub(crate) const CONSISTENCY: &str = "X-Consistency";

/// The time after which an unused socket is replaced: its pings are not answered meanwhile.
const SOCKET_IDLE: Duration = Duration::from_secs(10);

/// The number of calls before measured ones.
const WARM_UP: usize = 3;
/// A socket accepts 20 commands a second.
const COMMAND_INTERVAL: Duration = Duration::from_millis(50);

/// A client with a kept connection and a socket.
pub(crate) struct Client {
    endpoint: Endpoint,
    api: ApiClient,
    socket: Option<(Socket, Instant)>,
    workload: Workload,
}

/// A response, and the time from its request to its end.
pub(crate) struct Timed {
    pub(crate) response: Response,
    pub(crate) elapsed: Duration,
}

impl Client {
    /// Returns a client of a node.
    pub(crate) fn new(endpoint: &Endpoint, workload: Workload) -> Self {
        Self {
            endpoint: endpoint.clone(),
            api: ApiClient::new(endpoint),
            socket: None,
            workload,
        }
    }

    /// Runs an operation several times after a warm-up, and returns the times; none if it fails, so
    /// that the others are still measured.
    pub(crate) async fn repeat(&mut self, operation: &Operation, calls: usize) -> Vec<Duration> {
        let mut times = Vec::new();
        for _ in 0..WARM_UP + calls {
            match self.run(operation).await {
                Ok(time) => times.push(time),
                Err(error) => {
                    println!("{} failed: {error:#}", operation.name);
                    return Vec::new();
                }
            }
        }
        times.split_off(WARM_UP)
    }

    /// Runs an operation, and returns the time until it is complete.
    pub(crate) async fn run(&mut self, operation: &Operation) -> Result<Duration> {
        match &operation.call {
            Call::Request {
                method,
                path,
                body,
                status,
            } => {
                let body = body.map(|body| body(&self.workload));
                let path = path(&self.workload);
                let timed = request(&self.api, method.clone(), &path, body.as_ref(), None);
                let timed = timed.await.context(operation.name)?;
                expect(&timed.response, *status).context(operation.name)?;
                Ok(timed.elapsed)
            }
            Call::SocketChat => {
                let command = json!({
                    "id": 2, "type": "chat",
                    "agentId": self.workload.agent, "message": "echo hello",
                });
                let mut socket = self.take_socket().await?;
                sleep(COMMAND_INTERVAL).await;
                let started = Instant::now();
                socket.command(&command).await?;
                self.socket = Some((socket, Instant::now()));
                Ok(started.elapsed())
            }
        }
    }

    async fn take_socket(&mut self) -> Result<Socket> {
        match self.socket.take() {
            Some((socket, used)) if used.elapsed() < SOCKET_IDLE => Ok(socket),
            _ => connect_socket(&self.endpoint).await,
        }
    }
}

/// Opens a socket without channels.
async fn connect_socket(endpoint: &Endpoint) -> Result<Socket> {
    let mut socket = Socket::open(endpoint).await?;
    let connect = json!({ "id": 1, "type": "connect", "channels": [] });
    socket.command(&connect).await?;
    Ok(socket)
}

/// Sends a request that reads a state of at least the position `seen`.
pub(crate) async fn request(
    client: &ApiClient,
    method: Method,
    path: &str,
    body: Option<&Value>,
    seen: Option<&str>,
) -> Result<Timed, RequestError> {
    let mut request = client.http(method, path);
    if let Some(body) = body {
        request = request.json(body);
    }
    if let Some(position) = seen {
        request = request.header(CONSISTENCY, position);
    }
    let started = Instant::now();
    let response = send(request, TIMEOUT).await?;
    Ok(Timed {
        response,
        elapsed: started.elapsed(),
    })
}

/// Fails if a response has another status.
pub(crate) fn expect(response: &Response, status: u16) -> Result<()> {
    let body = String::from_utf8_lossy(&response.body);
    ensure!(
        response.status == status,
        "the response is {}: {body}",
        response.status
    );
    Ok(())
}
