//! The connection of the limiter, which is skipped while the server does not respond.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use domain::Quota;
use ports::error::one_line;
use redis::{RedisError, RedisResult};
use single_node::bus::Backoff;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};
use uuid::Uuid;

use super::take::take;
use crate::{
    RedisServer,
    connection::{Connection, timed_out},
};

/// The time limit of a call, and of the wait for another connection. It is added to few requests while
/// the server hangs.
const CALL_TIMEOUT: Duration = Duration::from_millis(250);
/// The interval at which the server is probed.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The connection of the limiter. A call that times out, or whose connection cannot be replaced at once,
/// opens the circuit: further calls are not sent until a new connection has answered a probe.
pub(super) struct Circuit {
    server: RedisServer,
    /// A key that no principal has.
    probe_key: String,
    state: watch::Sender<State>,
    closed: Notify,
    has_failed: AtomicBool,
}

#[derive(Clone)]
enum State {
    Connected(Current),
    /// A connection that had worked was lost, as after a restart or if it was idle for too long. Calls
    /// wait for the next one.
    Reconnecting,
    Disconnected,
}

#[derive(Clone)]
struct Current {
    number: u64,
    since: Instant,
    connection: Connection,
}

impl Circuit {
    pub(super) fn new(server: RedisServer, store: Uuid) -> Self {
        Self {
            server,
            probe_key: format!("agent-service:{}:probe", store.simple()),
            state: watch::Sender::new(State::Disconnected),
            closed: Notify::new(),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Calls the server, a second time if the connection was lost; `None` if it does not respond, which
    /// is logged. The server may have executed the first call, which then counts against the limit too.
    pub(super) async fn call<T, Called>(&self, call: impl Fn(Connection) -> Called) -> Option<T>
    where
        Called: Future<Output = RedisResult<T>>,
    {
        for _ in 0..2 {
            let Current {
                number, connection, ..
            } = self.connection().await?;
            match in_time(call(connection)).await {
                Ok(result) => return Some(result),
                Err(error) => self.lose(number, &error),
            }
        }
        None
    }

    /// Returns the connection, or waits for the one that replaces it.
    async fn connection(&self) -> Option<Current> {
        if let State::Connected(current) = &*self.state.borrow() {
            return Some(current.clone());
        }
        let mut state = self.state.subscribe();
        let decided = state.wait_for(|it| !matches!(it, State::Reconnecting));
        match &*timeout(CALL_TIMEOUT, decided).await.ok()?.ok()? {
            State::Connected(current) => Some(current.clone()),
            State::Reconnecting | State::Disconnected => None,
        }
    }

    /// Returns true if calls are sent.
    pub(super) fn is_closed(&self) -> bool {
        !matches!(*self.state.borrow(), State::Disconnected)
    }

    /// Waits until a new connection has answered.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Keeps a connection until the task is dropped.
    pub(super) async fn run(&self) {
        let mut backoff = Backoff::new();
        for number in 0.. {
            let connecting = self.connect();
            // Requests wait for the first attempt after a loss.
            let connected = if self.is_closed() {
                in_time(connecting).await
            } else {
                connecting.await
            };
            match connected {
                Ok(connection) => {
                    self.close(number, connection);
                    backoff.reset();
                    self.probe_until_failure().await;
                    if self.is_closed() {
                        continue;
                    }
                }
                Err(error) => {
                    self.state.send_replace(State::Disconnected);
                    self.report(&error);
                }
            }
            backoff.pause().await;
        }
    }

    async fn connect(&self) -> RedisResult<Connection> {
        let connection = self.server.connect(CALL_TIMEOUT, None).await?;
        in_time(self.probe(connection.clone())).await?;
        Ok(connection)
    }

    async fn probe_until_failure(&self) {
        let mut state = self.state.subscribe();
        loop {
            let lost = state.wait_for(|it| !matches!(it, State::Connected(_)));
            if timeout(PROBE_INTERVAL, lost).await.is_ok() {
                return;
            }
            self.probe_once().await;
        }
    }

    /// Probes the current connection. Unlike a call, it does not wait for another one, since nothing but
    /// the caller opens it.
    async fn probe_once(&self) {
        let State::Connected(current) = self.state.borrow().clone() else {
            return;
        };
        if let Err(error) = in_time(self.probe(current.connection)).await {
            self.lose(current.number, &error);
        }
    }

    /// Calls the script as a request does: a server may respond, but not execute it.
    async fn probe(&self, mut connection: Connection) -> RedisResult<()> {
        let quota = Quota::new(u32::MAX, 1);
        take(&mut connection, &self.probe_key, quota, NonZeroU32::MIN)
            .await
            .map(drop)
    }

    fn close(&self, number: u64, connection: Connection) {
        let since = Instant::now();
        self.state.send_replace(State::Connected(Current {
            number,
            since,
            connection,
        }));
        set_connected(true);
        if self.has_failed.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis available again for rate limits");
        }
        self.closed.notify_one();
    }

    /// Replaces a connection after an error, unless it was already replaced.
    fn lose(&self, number: u64, error: &RedisError) {
        self.state.send_if_modified(|state| {
            let State::Connected(current) = state else {
                return false;
            };
            if current.number != number {
                return false;
            }
            let has_worked = current.since.elapsed() > PROBE_INTERVAL;
            if has_worked && error.is_connection_dropped() {
                tracing::debug!(error = one_line(error), "connection of rate limits lost");
                *state = State::Reconnecting;
            } else {
                *state = State::Disconnected;
                self.report(error);
            }
            true
        });
    }

    /// Logs the first failure since the last connection.
    fn report(&self, error: &RedisError) {
        set_connected(false);
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                error = one_line(error),
                "Redis unavailable for rate limits; BUS__LIMITS_WHEN_DOWN applies"
            );
        }
    }
}

async fn in_time<T>(call: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    timeout(CALL_TIMEOUT, call)
        .await
        .map_err(|_elapsed| timed_out())?
}

fn set_connected(connected: bool) {
    metrics::gauge!("redis_connected", "use" => "limits").set(f64::from(u8::from(connected)));
}
