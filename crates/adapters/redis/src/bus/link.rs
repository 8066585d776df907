//! The task that exchanges signals with other processes.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::try_join_all;
use local_bus::{Backoff, LocalBus, Outbox};
use ports::error::one_line;
use redis::{ErrorKind, PushInfo, PushKind, RedisError, RedisResult, Value, cmd};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use super::channels::{Addressed, Channels, Writers};
use crate::{RedisServer, connection::Connection};

/// The interval at which every channel gets a message, so that a lost connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// The time limit of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Exchanges signals with other processes, on one connection at a time.
pub(super) struct Link {
    server: RedisServer,
    channels: Arc<Channels>,
    writers: Writers,
    outbox: Arc<Outbox>,
    is_connected: Arc<AtomicBool>,
    /// True if the operator was warned since the last connection.
    has_warned: bool,
}

impl Link {
    pub(super) fn new(
        server: RedisServer,
        store: Uuid,
        process: Uuid,
        outbox: Arc<Outbox>,
        local: &Weak<LocalBus>,
        is_connected: Arc<AtomicBool>,
    ) -> Self {
        let channels = Arc::new(Channels::new(store, process, local));
        Self {
            server,
            writers: Writers::new(Arc::clone(&channels), process),
            channels,
            outbox,
            is_connected,
            has_warned: false,
        }
    }

    /// Exchanges signals until the task is dropped.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            let Err(error) = self.exchange_until_error(&mut backoff).await;
            self.set_connected(false);
            if !std::mem::replace(&mut self.has_warned, true) {
                tracing::warn!(
                    error = one_line(&error),
                    "Redis unavailable for signals; sending them through the database"
                );
            }
            backoff.pause().await;
        }
    }

    async fn exchange_until_error(
        &mut self,
        backoff: &mut Backoff,
    ) -> RedisResult<std::convert::Infallible> {
        let lost = Arc::new(Notify::new());
        let connection = self.subscribe(&lost).await?;
        // A server that accepts connections but no messages is not connected.
        self.send(&connection, true).await?;
        self.channels.report_loss();
        self.set_connected(true);
        backoff.reset();
        if std::mem::replace(&mut self.has_warned, false) {
            tracing::info!("Redis available again for signals");
        }
        loop {
            let sent = self.writers.last_numbers();
            let next_heartbeat = Instant::now() + HEARTBEAT;
            while Instant::now() < next_heartbeat {
                tokio::select! {
                    () = lost.notified() => return Err(interrupted()),
                    filled = timeout_at(next_heartbeat, self.outbox.filled()) => {
                        if filled.is_ok() {
                            self.send(&connection, false).await?;
                        }
                    }
                }
            }
            if !self.writers.have_returned(&sent) {
                return Err(interrupted());
            }
            self.send(&connection, true).await?;
        }
    }

    /// Connects and subscribes to all channels. `lost` is notified when the subscription ends.
    async fn subscribe(&self, lost: &Arc<Notify>) -> RedisResult<Connection> {
        self.channels.reset();
        let (channels, lost) = (Arc::clone(&self.channels), Arc::clone(lost));
        let on_push = move |push: PushInfo| match (push.kind, &push.data[..]) {
            (PushKind::SMessage, [Value::BulkString(channel), Value::BulkString(message)]) => {
                channels.receive(channel, message);
            }
            (PushKind::Disconnection | PushKind::SUnsubscribe, _) => lost.notify_one(),
            _ => {}
        };
        let connection = self
            .server
            .connect(CALL_TIMEOUT, Some(Box::new(on_push)))
            .await?;
        let subscriptions = self.channels.names().iter().map(|channel| {
            let mut connection = connection.clone();
            async move {
                let mut subscribe = cmd("SSUBSCRIBE");
                subscribe.arg(channel).exec_async(&mut connection).await
            }
        });
        try_join_all(subscriptions).await?;
        Ok(connection)
    }

    /// Sends the waiting signals, and to `all` channels at least an empty message. The messages are
    /// pipelined, in the order of each channel.
    async fn send(&mut self, connection: &Connection, all: bool) -> RedisResult<()> {
        let messages = self.writers.write(self.outbox.take(), all);
        let names = self.channels.names();
        let sent = messages.into_iter().map(|Addressed { channel, message }| {
            let mut connection = connection.clone();
            async move {
                let mut publish = cmd("SPUBLISH");
                publish.arg(&names[channel]).arg(message);
                publish.exec_async(&mut connection).await
            }
        });
        try_join_all(sent).await.map(drop)
    }

    fn set_connected(&self, connected: bool) {
        self.is_connected.store(connected, Ordering::Relaxed);
        metrics::gauge!("redis_connected", "use" => "signals").set(f64::from(u8::from(connected)));
    }
}

fn interrupted() -> RedisError {
    RedisError::from((ErrorKind::Io, "the subscription was interrupted"))
}
