//! Sends the requests of an attack, whatever the responses are.
//!
//! It writes and reads raw bytes: a slow reader must leave the response in the buffers of the
//! server, where a client library would read ahead.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use dev_load::Endpoint;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};

/// The longest that a client waits for one response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The pause of a slow reader after each read, and the bytes of a read.
const SLOW_READ_PAUSE: Duration = Duration::from_millis(200);
const READ_BYTES: usize = 1_024;
/// The status code in `HTTP/1.1 200 OK`.
const STATUS: std::ops::Range<usize> = 9..12;

/// Requests that several clients send in turn.
#[derive(Clone)]
pub(super) struct FloodPlan {
    pub(super) requests: Vec<Vec<u8>>,
    pub(super) clients: usize,
    /// The interval between two requests of a client.
    pub(super) interval: Duration,
    pub(super) reading: Reading,
}

/// The way in which responses are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    AtOnce,
    Slow,
}

impl FloodPlan {
    /// A plan with twice as many requests as a principal may send in the long run.
    pub(super) fn paced(requests: Vec<Vec<u8>>) -> Self {
        Self {
            requests: requests.into_iter().map(closing).collect(),
            clients: 10,
            interval: Duration::from_millis(500),
            reading: Reading::AtOnce,
        }
    }
}

/// Adds `Connection: close`: a response then ends with its connection.
fn closing(mut request: Vec<u8>) -> Vec<u8> {
    if let Some(end) = request.windows(2).position(|bytes| bytes == b"\r\n") {
        request.splice(end..end, *b"\r\nConnection: close");
    }
    request
}

/// The numbers of responses to a flood.
#[derive(Default)]
pub(super) struct Responses {
    pub(super) admitted: AtomicUsize,
    pub(super) rate_limited: AtomicUsize,
    pub(super) rejected: AtomicUsize,
    pub(super) failed: AtomicUsize,
}

impl Responses {
    /// The number of requests that passed the rate limits.
    pub(super) fn processed(&self) -> usize {
        self.admitted.load(Ordering::Relaxed) + self.rejected.load(Ordering::Relaxed)
    }

    fn count(&self, status: Option<u16>) {
        let counter = match status {
            Some(200..300) => &self.admitted,
            Some(429) => &self.rate_limited,
            Some(_) => &self.rejected,
            None => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Starts all clients; they run until the set is dropped.
pub(super) fn start(endpoint: &Endpoint, plans: Vec<FloodPlan>) -> (JoinSet<()>, Arc<Responses>) {
    let (mut clients, responses) = (JoinSet::new(), Arc::new(Responses::default()));
    for plan in plans {
        for number in 0..plan.clients {
            let (endpoint, plan) = (endpoint.clone(), plan.clone());
            clients.spawn(send(endpoint, plan, number, Arc::clone(&responses)));
        }
    }
    (clients, responses)
}

async fn send(endpoint: Endpoint, plan: FloodPlan, number: usize, responses: Arc<Responses>) {
    let requests = plan.requests.iter().cycle().skip(number);
    for request in requests.step_by(plan.clients) {
        let next = Instant::now() + plan.interval;
        let exchanged = exchange(&endpoint, request, plan.reading, &responses);
        if !matches!(timeout(TIMEOUT, exchanged).await, Ok(Ok(()))) {
            responses.count(None);
        }
        sleep_until(next).await;
    }
}

/// Sends a request and reads the response. Errors after the status line do not count.
async fn exchange(
    endpoint: &Endpoint,
    request: &[u8],
    reading: Reading,
    responses: &Responses,
) -> Result<()> {
    let mut stream = TcpStream::connect(endpoint.address).await?;
    // A rejected request may be answered before all of it is sent.
    let _ = stream.write_all(request).await;
    let mut head = [0; STATUS.end];
    stream.read_exact(&mut head).await?;
    let status = std::str::from_utf8(&head[STATUS])?.parse();
    responses.count(Some(status.context("no status code")?));
    let mut buffer = [0; READ_BYTES];
    while stream.read(&mut buffer).await.unwrap_or(0) > 0 {
        if reading == Reading::Slow {
            sleep(SLOW_READ_PAUSE).await;
        }
    }
    Ok(())
}
