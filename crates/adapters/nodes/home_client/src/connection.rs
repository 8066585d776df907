//! The connection to the home region, replaced whenever it is lost.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{
    address::HomeAddress,
    connect_error::ConnectError,
    dialer::{Dialer, Lost, OpenConnection},
    outage::Outage,
};

/// The time in which a connection must be open, with its TLS: four round trips, and the repetition of
/// a lost first packet after a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The time after which the home region counts as unreachable during the first attempt to connect.
const FIRST_ATTEMPT: Duration = Duration::from_millis(800);
/// The times from one attempt to connect to the next double from the first to the longest. An attempt
/// that takes longer is followed by another at once.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the connection.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionState {
    /// It is being opened, and nothing has failed so far.
    Opening,
    /// It is open.
    Open(OpenConnection),
    /// The last attempt to open it has failed, and others follow.
    Unreachable,
}

/// Makes new requests use another connection. The causes are not remembered: a connection that is
/// opened later does not lead to that node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replacement {
    /// Notified if the node at the other end shuts down.
    pub(crate) node_closes: Arc<Notify>,
    /// Notified if it does not respond. Its running requests end if no other node does.
    pub(crate) node_is_silent: Arc<Notify>,
}

/// The attempts after the end of a connection.
struct Reconnection {
    outage: Outage,
    /// Abandons the connection to a node that does not respond, after an attempt that fails.
    silent: Option<DropGuard>,
}

impl Reconnection {
    /// Ends with another connection.
    fn end(mut self) {
        self.outage.end();
        if let Some(silent) = self.silent {
            silent.disarm();
        }
    }
}

/// Keeps one connection open.
pub(crate) struct Connector {
    dialer: Dialer,
    state: watch::Sender<ConnectionState>,
    round_trip: watch::Sender<Duration>,
    replacement: Replacement,
    /// The connections that end with their last request.
    tasks: TaskTracker,
}

impl Connector {
    /// Creates a connector without a connection. Fails if the certificates of the operating system
    /// cannot be read.
    pub(crate) fn new(address: HomeAddress, tasks: TaskTracker) -> Result<Self, rustls::Error> {
        Ok(Self {
            dialer: Dialer::new(address)?,
            state: watch::Sender::new(ConnectionState::Opening),
            round_trip: watch::Sender::default(),
            replacement: Replacement::default(),
            tasks,
        })
    }

    /// Subscribes to the state of the connection.
    pub(crate) fn state(&self) -> watch::Receiver<ConnectionState> {
        self.state.subscribe()
    }

    /// Subscribes to the time of the first request on the newest connection and its response.
    pub(crate) fn round_trip(&self) -> watch::Receiver<Duration> {
        self.round_trip.subscribe()
    }

    /// Returns a handle that makes new requests use another connection.
    pub(crate) fn replacement(&self) -> Replacement {
        self.replacement.clone()
    }

    /// Keeps a connection open until the task is dropped.
    pub(crate) async fn run(self) {
        let mut silent = None;
        loop {
            let (abandoned, lost) = self.open_again(silent).await;
            metrics::gauge!("region_home_connected").set(1.0);
            silent = self.hold(abandoned, lost).await;
            metrics::gauge!("region_home_connected").set(0.0);
        }
    }

    /// Attempts to connect until there is a connection.
    async fn open_again(&self, silent: Option<DropGuard>) -> (CancellationToken, Lost) {
        let mut reconnection = Reconnection {
            outage: Outage::default(),
            silent,
        };
        let mut interval = SHORTEST_INTERVAL;
        loop {
            let began = Instant::now();
            match self.attempt(&mut reconnection).await {
                Ok((open, lost)) => {
                    reconnection.end();
                    let abandoned = open.abandoned.clone();
                    let seconds = open.round_trip.as_secs_f64();
                    metrics::gauge!("region_home_round_trip_seconds").set(seconds);
                    self.round_trip.send_replace(open.round_trip);
                    self.state.send_replace(ConnectionState::Open(open));
                    return (abandoned, lost);
                }
                Err(error) => self.record(&mut reconnection, &error),
            }
            sleep_until(began + interval).await;
            interval = LONGEST_INTERVAL.min(interval * 2);
        }
    }

    /// Attempts to connect once. Requests do not wait for the end of a long attempt.
    async fn attempt(
        &self,
        reconnection: &mut Reconnection,
    ) -> Result<(OpenConnection, Lost), ConnectError> {
        let connect = timeout(CONNECT_TIMEOUT, self.dialer.connect());
        tokio::pin!(connect);
        let connected = tokio::select! {
            connected = &mut connect => connected,
            () = sleep(FIRST_ATTEMPT) => {
                let error = ConnectError::Unreachable("not connected in time".into());
                self.record(reconnection, &error);
                connect.await
            }
        };
        connected.unwrap_or_else(|elapsed| Err(ConnectError::Unreachable(elapsed.into())))
    }

    fn record(&self, reconnection: &mut Reconnection, error: &ConnectError) {
        // Also drops a connection that was to be replaced: a node that shuts down waits for its end.
        self.state.send_replace(ConnectionState::Unreachable);
        reconnection.silent = None;
        reconnection.outage.record(error);
    }

    /// Uses a connection until it is lost or to be replaced. Returns it if its node does not respond.
    async fn hold(&self, abandoned: CancellationToken, mut lost: Lost) -> Option<DropGuard> {
        tokio::select! {
            cause = &mut lost => {
                let cause = cause.as_deref();
                tracing::info!(cause, "connection to the home region lost; reconnecting");
                self.state.send_replace(ConnectionState::Opening);
                None
            }
            () = self.replacement.node_closes.notified() => {
                self.serve_until_replaced(lost);
                None
            }
            () = self.replacement.node_is_silent.notified() => {
                self.serve_until_replaced(lost);
                Some(abandoned.drop_guard())
            }
        }
    }

    /// Lets a connection serve until there is another, and end with its last request.
    fn serve_until_replaced(&self, lost: Lost) {
        tracing::info!("opening another connection to the home region");
        self.tasks.spawn(lost);
    }
}
