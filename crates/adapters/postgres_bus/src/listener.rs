//! The task that receives the signals of other processes.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use local_bus::LocalBus;
use ports::{EventBus as _, Signal, error::one_line};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::time::timeout;
use uuid::Uuid;

use crate::{
    backoff::Backoff,
    message::{Fragments, Message},
    sender::HEARTBEAT,
};

/// The time without a message after which the connection counts as lost.
const SILENCE: Duration = HEARTBEAT.saturating_mul(2);
/// The maximum number of processes whose last message is known. Processes that have ended stay until
/// then.
const MAX_PROCESSES: usize = 1_024;

/// Delivers the signals of other processes to the subscribers of this one.
pub(crate) struct Listener {
    connect: PgConnectOptions,
    channel: String,
    /// This process, whose own messages show only that the channel works.
    process: Uuid,
    local: Weak<LocalBus>,
    /// The other processes.
    senders: HashMap<Uuid, MessageSender>,
    /// True once a message was received.
    has_received: bool,
    /// True if the operator was warned that no messages arrive.
    has_warned: bool,
}

/// Another process, as far as its messages are known.
struct MessageSender {
    last_number: u64,
    fragments: Fragments,
}

/// The bus of this process was dropped.
struct Closed;

impl Listener {
    pub(crate) fn new(
        connect: PgConnectOptions,
        channel: String,
        process: Uuid,
        local: Weak<LocalBus>,
    ) -> Self {
        Self {
            connect,
            channel,
            process,
            local,
            senders: HashMap::new(),
            has_received: false,
            has_warned: false,
        }
    }

    /// Delivers signals until the bus is dropped.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            match self.connect().await {
                Ok(listener) => {
                    backoff.reset();
                    if let Err(Closed) = self.deliver(listener).await {
                        return;
                    }
                }
                Err(error) => {
                    let error = one_line(&error);
                    tracing::debug!(error, "cannot listen to other nodes; retrying");
                }
            }
            metrics::gauge!("bus_connected").set(0.0);
            backoff.pause().await;
        }
    }

    async fn connect(&self) -> Result<PgListener, sqlx::Error> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_with(self.connect.clone())
            .await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen(&self.channel).await?;
        Ok(listener)
    }

    /// Delivers the signals that arrive until the connection is lost.
    async fn deliver(&mut self, mut listener: PgListener) -> Result<(), Closed> {
        // Signals may have been sent before this connection.
        self.senders.clear();
        self.publish(Signal::SignalsLost)?;
        loop {
            match timeout(SILENCE, listener.try_recv()).await {
                Ok(Ok(Some(notification))) => self.receive(notification.payload())?,
                Ok(Ok(None) | Err(_)) => return Ok(()),
                Err(_silence) => {
                    self.warn();
                    return Ok(());
                }
            }
        }
    }

    fn receive(&mut self, payload: &str) -> Result<(), Closed> {
        let Some(message) = Message::read(payload) else {
            return Ok(());
        };
        if !std::mem::replace(&mut self.has_received, true) {
            tracing::debug!("signals of other nodes arrive");
        }
        metrics::gauge!("bus_connected").set(1.0);
        if message.process == self.process {
            return Ok(());
        }
        if self.senders.len() >= MAX_PROCESSES {
            self.senders.clear();
        }
        let number = message.number;
        let sender = self
            .senders
            .entry(message.process)
            .or_insert_with(|| MessageSender {
                last_number: number.wrapping_sub(1),
                fragments: Fragments::default(),
            });
        let is_next = number == sender.last_number.wrapping_add(1);
        sender.last_number = number;
        let signals = sender.fragments.add(message, is_next);
        if !is_next {
            self.publish(Signal::SignalsLost)?;
        }
        signals.into_iter().try_for_each(|signal| {
            metrics::counter!("bus_signals_received").increment(1);
            self.publish(signal)
        })
    }

    fn publish(&self, signal: Signal) -> Result<(), Closed> {
        let local: Arc<LocalBus> = self.local.upgrade().ok_or(Closed)?;
        local.publish(signal);
        Ok(())
    }

    /// Warns once that no messages arrive, although the database can be reached.
    fn warn(&mut self) {
        if !self.has_received && !std::mem::replace(&mut self.has_warned, true) {
            tracing::warn!(
                "LISTEN does not work on this database connection, as behind a pooler in transaction \
                 mode; changes of other nodes are found once a second, and their replies arrive whole"
            );
        }
    }
}
