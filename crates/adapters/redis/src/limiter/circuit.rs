//! The connection of the limiter, which is skipped while the server does not respond.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use domain::Quota;
use local_bus::Backoff;
use parking_lot::RwLock;
use ports::error::one_line;
use redis::{RedisError, RedisResult};
use tokio::{sync::Notify, time::timeout};
use uuid::Uuid;

use super::take::take;
use crate::{
    RedisServer,
    connection::{Connection, timed_out},
};

/// The time limit of a call, which is added to a request at most once while the server hangs.
const CALL_TIMEOUT: Duration = Duration::from_millis(250);
/// The interval at which the server is probed.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The connection of the limiter. The first failed or late call opens the circuit: further calls are
/// not sent until a new connection has answered a probe.
pub(super) struct Circuit {
    server: RedisServer,
    /// A key that no principal has.
    probe_key: String,
    current: RwLock<Option<Current>>,
    failed: Notify,
    closed: Notify,
    has_failed: AtomicBool,
}

#[derive(Clone)]
struct Current {
    number: u64,
    connection: Connection,
}

impl Circuit {
    pub(super) fn new(server: RedisServer, store: Uuid) -> Self {
        Self {
            server,
            probe_key: format!("agent-service:{}:probe", store.simple()),
            current: RwLock::new(None),
            failed: Notify::new(),
            closed: Notify::new(),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Calls the server; `None` if it does not respond, which is logged.
    pub(super) async fn call<T>(
        &self,
        call: impl AsyncFnOnce(&mut Connection) -> RedisResult<T>,
    ) -> Option<T> {
        let Current {
            number,
            mut connection,
        } = self.current.read().clone()?;
        match in_time(call(&mut connection)).await {
            Ok(result) => Some(result),
            Err(error) => {
                self.open(number, &error);
                None
            }
        }
    }

    /// Returns true if calls are sent.
    pub(super) fn is_closed(&self) -> bool {
        self.current.read().is_some()
    }

    /// Waits until a new connection has answered.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Keeps a connection until the task is dropped.
    pub(super) async fn run(&self) {
        let mut backoff = Backoff::new();
        for number in 0.. {
            match self.connect().await {
                Ok(connection) => {
                    self.close(number, connection);
                    backoff.reset();
                    self.probe_until_failure().await;
                }
                Err(error) => self.report(&error),
            }
            backoff.pause().await;
        }
    }

    async fn connect(&self) -> RedisResult<Connection> {
        let mut connection = self.server.connect(CALL_TIMEOUT, None).await?;
        in_time(self.probe(&mut connection)).await?;
        Ok(connection)
    }

    async fn probe_until_failure(&self) {
        loop {
            let failed = timeout(PROBE_INTERVAL, self.failed.notified())
                .await
                .is_ok();
            if failed && !self.is_closed() {
                return;
            }
            self.call(async |connection| self.probe(connection).await)
                .await;
        }
    }

    /// Calls the script as a request does: a server may respond, but not execute it.
    async fn probe(&self, connection: &mut Connection) -> RedisResult<()> {
        let quota = Quota::new(u32::MAX, 1);
        take(connection, &self.probe_key, quota, NonZeroU32::MIN)
            .await
            .map(drop)
    }

    fn close(&self, number: u64, connection: Connection) {
        *self.current.write() = Some(Current { number, connection });
        set_connected(true);
        if self.has_failed.swap(false, Ordering::Relaxed) {
            tracing::info!("Redis available again for rate limits");
        }
        self.closed.notify_one();
    }

    /// Opens the circuit, unless the failed connection was already replaced.
    fn open(&self, number: u64, error: &RedisError) {
        let mut current = self.current.write();
        if current.as_ref().is_some_and(|it| it.number == number) {
            *current = None;
            drop(current);
            self.failed.notify_one();
            self.report(error);
        }
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
