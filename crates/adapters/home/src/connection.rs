//! The connection to the home region, replaced whenever it is lost.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::task::TaskTracker;

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

/// Keeps one connection open.
pub(crate) struct Connector {
    dialer: Dialer,
    state: watch::Sender<ConnectionState>,
    round_trip: watch::Sender<Duration>,
    /// Notified if the home node at the other end shuts down.
    replace: Arc<Notify>,
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
            replace: Arc::default(),
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
    pub(crate) fn replace(&self) -> Arc<Notify> {
        Arc::clone(&self.replace)
    }

    /// Keeps a connection open until the task is dropped.
    pub(crate) async fn run(self) {
        loop {
            let lost = self.open_again().await;
            metrics::gauge!("region_home_connected").set(1.0);
            self.hold(lost).await;
            metrics::gauge!("region_home_connected").set(0.0);
        }
    }

    /// Attempts to connect until there is a connection.
    async fn open_again(&self) -> Lost {
        let mut outage = Outage::default();
        let mut interval = SHORTEST_INTERVAL;
        loop {
            let began = Instant::now();
            match self.attempt(&mut outage).await {
                Ok((open, lost)) => {
                    outage.end();
                    let seconds = open.round_trip.as_secs_f64();
                    metrics::gauge!("region_home_round_trip_seconds").set(seconds);
                    self.round_trip.send_replace(open.round_trip);
                    self.state.send_replace(ConnectionState::Open(open));
                    return lost;
                }
                Err(error) => self.record(&mut outage, &error),
            }
            sleep_until(began + interval).await;
            interval = LONGEST_INTERVAL.min(interval * 2);
        }
    }

    /// Attempts to connect once. Requests do not wait for the end of a long attempt.
    async fn attempt(&self, outage: &mut Outage) -> Result<(OpenConnection, Lost), ConnectError> {
        let connect = timeout(CONNECT_TIMEOUT, self.dialer.connect());
        tokio::pin!(connect);
        let connected = tokio::select! {
            connected = &mut connect => connected,
            () = sleep(FIRST_ATTEMPT) => {
                self.record(outage, &ConnectError::Unreachable("not connected in time".into()));
                connect.await
            }
        };
        connected.unwrap_or_else(|elapsed| Err(ConnectError::Unreachable(elapsed.into())))
    }

    fn record(&self, outage: &mut Outage, error: &ConnectError) {
        // Also drops a connection that was to be replaced: a node that shuts down waits for its end.
        self.state.send_replace(ConnectionState::Unreachable);
        outage.record(error);
    }

    /// Uses a connection until it is lost or to be replaced.
    async fn hold(&self, mut lost: Lost) {
        tokio::select! {
            cause = &mut lost => {
                let cause = cause.as_deref();
                tracing::info!(cause, "connection to the home region lost; reconnecting");
                self.state.send_replace(ConnectionState::Opening);
            }
            () = self.replace.notified() => {
                tracing::info!("opening another connection to the home region");
                // It serves until there is another, and ends with its last request.
                self.tasks.spawn(lost);
            }
        }
    }
}
