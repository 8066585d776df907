//! The implementation of the port.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use parking_lot::RwLock;
use ports::{Forwarding, Home, HomeBody, HomeError, HomeStatus, SentBody};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    address::HomeAddress,
    connection::{ConnectionState, Connector, Replacement},
    dialer::OpenConnection,
    outgoing::Outgoing,
    send_outcome::SendOutcome,
    signer::Signer,
};

/// The time for which a request waits for a connection that is being opened.
const CONNECTION_WAIT: Duration = Duration::from_millis(800);
/// The time in which the home region responds to a request of this node itself, which is small.
const OWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The home region of this process.
pub struct HomeClient {
    base_url: String,
    signer: Signer,
    connection: watch::Receiver<ConnectionState>,
    round_trip: watch::Receiver<Duration>,
    replacement: Replacement,
    /// The time at which the stream of signals was opened; `None` without one.
    stream_since: watch::Sender<Option<Instant>>,
    last_report: RwLock<LastReport>,
    /// True after the home region has rejected this region, until it accepts it.
    is_rejected: AtomicBool,
}

/// The state of the home region by its last report.
#[derive(Debug, Clone, Copy, Default)]
struct LastReport {
    /// `None` before the first report.
    reported_at: Option<Instant>,
    access_version: i64,
}

impl HomeClient {
    /// Starts to connect. The task of the connection runs on the current runtime until `stop`.
    pub fn start(
        address: HomeAddress,
        signer: Signer,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self, rustls::Error> {
        let base_url = address.base_url.clone();
        let connector = Connector::new(address, tasks.clone())?;
        let (connection, replacement) = (connector.state(), connector.replacement());
        let round_trip = connector.round_trip();
        tasks.spawn(stop.clone().run_until_cancelled_owned(connector.run()));
        Ok(Self {
            base_url,
            signer,
            connection,
            round_trip,
            replacement,
            last_report: RwLock::default(),
            stream_since: watch::Sender::default(),
            is_rejected: AtomicBool::new(false),
        })
    }

    /// Sends a request of this node itself.
    pub(crate) async fn send_own(
        &self,
        request: http::Result<Request<Bytes>>,
    ) -> Result<Response<HomeBody>, HomeError> {
        self.send(request?.map(SentBody::from), None).await
    }

    /// Records a report of the home region.
    pub(crate) fn record_report(&self, access_version: i64) {
        let mut state = self.last_report.write();
        state.reported_at = Some(Instant::now());
        state.access_version = state.access_version.max(access_version);
    }

    /// Makes new requests use another connection, because the node at the other end shuts down.
    pub(crate) fn replace_connection(&self) {
        self.replacement.node_closes.notify_waiters();
    }

    /// Makes new requests use another connection, because the node at the other end does not respond
    /// although a proxy answers PINGs. If no other node responds, requests end as lost.
    pub(crate) fn replace_silent_connection(&self) {
        self.replacement.node_is_silent.notify_waiters();
    }

    /// Waits until there is a connection.
    pub(crate) async fn connected(&self) {
        let mut connection = self.connection.clone();
        let is_open = |state: &ConnectionState| matches!(state, ConnectionState::Open(_));
        if connection.wait_for(is_open).await.is_err() {
            // The task of the connection has ended with the process.
            std::future::pending::<()>().await;
        }
    }

    /// Records that the stream of signals was opened or lost.
    pub(crate) fn set_stream_open(&self, is_open: bool) {
        self.stream_since.send_replace(is_open.then(Instant::now));
    }

    /// Subscribes to the time at which the stream of signals was opened; `None` without one.
    pub(crate) fn stream_since(&self) -> watch::Receiver<Option<Instant>> {
        self.stream_since.subscribe()
    }

    /// Returns an open connection, as soon as there is one before `deadline`. A new request does not
    /// wait while the home region is known to be unreachable; one that was sent before does.
    async fn connection(
        &self,
        deadline: Instant,
        is_new: bool,
    ) -> Result<OpenConnection, HomeError> {
        let mut connection = self.connection.clone();
        let mut found = None;
        let decided = connection.wait_for(|state| match state {
            // Its task replaces a closed one.
            ConnectionState::Open(open) if !open.sender.is_closed() => {
                found = Some(open.clone());
                true
            }
            ConnectionState::Unreachable => is_new,
            ConnectionState::Open(_) | ConnectionState::Opening => false,
        });
        let decided = timeout_at(deadline, decided).await;
        drop(decided);
        found.ok_or_else(|| HomeError::Unreachable("there is no connection".into()))
    }
}

impl HomeClient {
    /// Sends a request, and once more if that is safe.
    async fn exchange(
        &self,
        request: &Request<Outgoing>,
        forwarding: Option<&Forwarding>,
    ) -> Result<Response<HomeBody>, HomeError> {
        let is_repeatable = forwarding.is_some_and(|it| it.is_repeatable);
        let mut deadline = Instant::now() + CONNECTION_WAIT;
        let mut lost = None;
        loop {
            let is_new = lost.is_none();
            let sent = self.send_once(request, forwarding, deadline, is_new);
            let outcome = match sent.await {
                Ok(outcome) => outcome,
                // It was sent once, and it is unknown what became of it.
                Err(error) => return Err(lost.unwrap_or(error)),
            };
            let error = match outcome {
                SendOutcome::Answered(response) => {
                    self.is_rejected.store(false, Ordering::Relaxed);
                    return Ok(*response);
                }
                SendOutcome::Rejected => return Err(lost.unwrap_or_else(|| self.rejected())),
                SendOutcome::Unprocessed(error)
                    if Instant::now() >= deadline || request.body().is_taken() =>
                {
                    return Err(lost.unwrap_or(HomeError::Unreachable(error)));
                }
                SendOutcome::Unprocessed(_) => {
                    // The connection is closing, and its task replaces it.
                    tokio::task::yield_now().await;
                    continue;
                }
                SendOutcome::OfProxy(status) => {
                    // If no node is behind the proxy, there will be no other connection.
                    self.replace_connection();
                    format!("a proxy has responded with status {status}").into()
                }
                SendOutcome::Lost(error) => error,
            };
            let error = HomeError::Lost(error);
            if lost.is_some() || !is_repeatable || request.body().is_taken() {
                return Err(error);
            }
            lost = Some(error);
            // A node that was restarted may be back by then.
            deadline = Instant::now() + CONNECTION_WAIT;
        }
    }

    /// Sends a request once, if there is a connection before `deadline`.
    async fn send_once(
        &self,
        request: &Request<Outgoing>,
        forwarding: Option<&Forwarding>,
        deadline: Instant,
        is_new: bool,
    ) -> Result<SendOutcome, HomeError> {
        let mut open = self.connection(deadline, is_new).await?;
        let mut permits = Vec::new();
        if request.body().is_streamed() {
            permits.push(acquire(&open.streamed_bodies, deadline).await?);
        }
        if forwarding.is_some() {
            permits.push(acquire(&open.streams, deadline).await?);
        }
        let signed = self.signer.signed(request, forwarding, &self.base_url)?;
        let sent = open.sender.try_send_request(signed).await;
        Ok(SendOutcome::of(sent, permits))
    }

    /// Returns the error of a request whose signature is rejected, and logs the first one.
    fn rejected(&self) -> HomeError {
        if !self.is_rejected.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "the home region rejects this region; compare REGION__KEY, the names of both and \
                 their clocks"
            );
        }
        HomeError::Unreachable("the home region rejects this region".into())
    }
}

/// Waits for a permit, which a request holds while it is open.
async fn acquire(
    permits: &Arc<Semaphore>,
    deadline: Instant,
) -> Result<OwnedSemaphorePermit, HomeError> {
    let permit = timeout_at(deadline, Arc::clone(permits).acquire_owned()).await;
    let full = |_elapsed| HomeError::Unreachable("too many requests are open".into());
    permit
        .map_err(full)?
        .map_err(|closed| HomeError::Unreachable(closed.into()))
}

/// Counts a request of a client.
fn count(outcome: &Result<Response<HomeBody>, HomeError>) {
    let outcome = match outcome {
        Ok(_) => "answered",
        Err(HomeError::Unreachable(_)) => "home_unavailable",
        Err(HomeError::Lost(_)) => "lost",
    };
    metrics::counter!("region_forwarded", "outcome" => outcome).increment(1);
}

#[async_trait]
impl Home for HomeClient {
    async fn send(
        &self,
        request: Request<SentBody>,
        forwarding: Option<Forwarding>,
    ) -> Result<Response<HomeBody>, HomeError> {
        let request = request.map(Outgoing::from);
        let exchange = self.exchange(&request, forwarding.as_ref());
        if forwarding.is_some() {
            let outcome = exchange.await;
            count(&outcome);
            return outcome;
        }
        // A proxy answers PINGs although no node responds.
        let exchange = timeout(OWN_TIMEOUT, exchange).await;
        exchange.unwrap_or_else(|elapsed| Err(HomeError::Lost(elapsed.into())))
    }

    fn status(&self) -> HomeStatus {
        let state = *self.last_report.read();
        HomeStatus {
            report_age: state.reported_at.map(|at| at.elapsed()),
            access_version: state.access_version,
            round_trip: *self.round_trip.borrow(),
        }
    }
}
