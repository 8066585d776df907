//! The task that exchanges signals with other processes.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::try_join_all;
use parking_lot::RwLock;
use ports::{EventBus, Signal, error::one_line};
use redis::{ErrorKind, PushInfo, PushKind, RedisError, RedisResult, Value, cmd};
use single_node::bus::{Backoff, LocalBus, Outbox};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until, timeout_at},
};
use uuid::Uuid;

use super::channels::{ChannelMessage, Channels, Writers};
use crate::{RedisServer, connection::Connection};

/// The interval at which every channel gets a message, so that a lost connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// The shortest time between two sends. Signals that arrive meanwhile are sent together: each message
/// makes every other process read the log.
const INTERVAL: Duration = Duration::from_millis(4);
/// The time limit of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// The state that the bus shares with the task.
#[derive(Default)]
pub(super) struct ExchangeState {
    pub(super) outbox: Outbox,
    pub(super) is_connected: AtomicBool,
    /// The signal that is being sent through the fallback because the server may not have received it.
    /// The subscribers of this process have received it.
    pub(super) resending: RwLock<Option<Signal>>,
}

/// Exchanges signals with other processes, on one connection at a time.
pub(super) struct SignalExchange {
    server: RedisServer,
    channels: Arc<Channels>,
    writers: Writers,
    state: Arc<ExchangeState>,
    /// The signals of the messages that were sent last.
    sending: Vec<Signal>,
    fallback: Arc<dyn EventBus>,
    /// True if the operator was warned since the last connection.
    has_warned: bool,
}

impl SignalExchange {
    pub(super) fn new(
        server: RedisServer,
        store: Uuid,
        process: Uuid,
        fallback: Arc<dyn EventBus>,
        local: &Weak<LocalBus>,
        state: Arc<ExchangeState>,
    ) -> Self {
        let channels = Arc::new(Channels::new(store, process, local));
        Self {
            server,
            writers: Writers::new(Arc::clone(&channels), process),
            channels,
            state,
            sending: Vec::new(),
            fallback,
            has_warned: false,
        }
    }

    /// Exchanges signals until the task is dropped.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            let Err(error) = self.exchange_until_error(&mut backoff).await;
            // Repeated in time: an attempt to connect and the pause after it are shorter than the time
            // for which a request is valid.
            self.fallback.publish(Signal::FallbackRequested);
            if self.state.is_connected.load(Ordering::Relaxed) {
                self.change_to_fallback();
            }
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
        // Published by another thread just before the last connection was lost, and too old now.
        drop(self.state.outbox.take());
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
                    filled = timeout_at(next_heartbeat, self.state.outbox.filled()) => {
                        if filled.is_ok() {
                            let next_send = Instant::now() + INTERVAL;
                            self.send(&connection, false).await?;
                            sleep_until(next_send).await;
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

    /// Sends through the fallback what the server may not have received.
    fn change_to_fallback(&mut self) {
        self.set_connected(false);
        let unsent = self.state.outbox.take();
        for signal in self.sending.drain(..).chain(unsent) {
            *self.state.resending.write() = Some(signal.clone());
            self.fallback.publish(signal);
        }
        *self.state.resending.write() = None;
        self.channels.report_loss();
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
        self.sending = self.state.outbox.take();
        let messages = self.writers.write(&self.sending, all);
        let names = self.channels.names();
        let sent = messages
            .into_iter()
            .map(|ChannelMessage { channel, message }| {
                let mut connection = connection.clone();
                async move {
                    let mut publish = cmd("SPUBLISH");
                    publish.arg(&names[channel]).arg(message);
                    publish.exec_async(&mut connection).await
                }
            });
        try_join_all(sent).await?;
        self.sending.clear();
        Ok(())
    }

    fn set_connected(&self, connected: bool) {
        self.state.is_connected.store(connected, Ordering::Relaxed);
        metrics::gauge!("redis_connected", "use" => "signals").set(f64::from(u8::from(connected)));
    }
}

fn interrupted() -> RedisError {
    RedisError::from((ErrorKind::Io, "the subscription was interrupted"))
}
