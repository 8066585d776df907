//! The task that receives the signals of other processes.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use ports::error::one_line;
use single_node::bus::{Backoff, Closed, Inbox, LocalBus, Message};
use sqlx::{
    Executor as _,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::time::timeout;
use uuid::Uuid;

use crate::bus::{
    outage::Outage,
    sender::{CALL_TIMEOUT, HEARTBEAT, in_time},
};

/// The time without a message after which the connection counts as lost.
const SILENCE: Duration = HEARTBEAT.saturating_mul(2);

const NO_MESSAGE: &str = "\
    no message arrives on a connection that listens, as behind a pooler in transaction mode";

const NEVER_IDLE: &str = "set idle_session_timeout = 0";

/// Delivers the signals of other processes to the subscribers of this one.
pub(crate) struct Listener {
    connect: PgConnectOptions,
    channel: String,
    process: Uuid,
    inbox: Inbox,
    outage: Arc<Outage>,
}

impl Listener {
    pub(crate) fn new(
        connect: PgConnectOptions,
        channel: String,
        process: Uuid,
        local: Weak<LocalBus>,
        outage: Arc<Outage>,
    ) -> Self {
        Self {
            connect,
            channel,
            process,
            inbox: Inbox::new(process, local),
            outage,
        }
    }

    /// Delivers signals until the bus is dropped.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            match in_time(self.connect()).await {
                Ok(listener) => {
                    if let Err(Closed) = self.deliver(listener, &mut backoff).await {
                        return;
                    }
                }
                Err(error) => {
                    let error = one_line(&error);
                    self.outage.begin(&error);
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
            // The log says by itself what fails.
            .acquire_slow_threshold(CALL_TIMEOUT)
            .connect_with(self.connect.clone())
            .await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        // It never sends a statement after this, so that it would be idle for the server.
        listener.execute(NEVER_IDLE).await?;
        listener.listen(&self.channel).await?;
        Ok(listener)
    }

    /// Delivers the signals that arrive until the connection is lost. Only a message shows that the
    /// connection works, and resets `backoff`.
    async fn deliver(
        &mut self,
        mut listener: PgListener,
        backoff: &mut Backoff,
    ) -> Result<(), Closed> {
        // Signals may have been sent before this connection.
        self.inbox.reset();
        self.inbox.report_loss()?;
        let mut has_received = false;
        loop {
            match timeout(SILENCE, listener.try_recv()).await {
                Ok(Ok(Some(notification))) => {
                    backoff.reset();
                    has_received = true;
                    self.receive(notification.payload())?;
                }
                Ok(Ok(None) | Err(_)) => return Ok(()),
                Err(_silence) => {
                    if !has_received {
                        self.outage.begin(NO_MESSAGE);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn receive(&mut self, payload: &str) -> Result<(), Closed> {
        let Some(message) = Message::read(payload) else {
            return Ok(());
        };
        // Its own messages show that both directions work.
        if message.process == self.process {
            self.outage.end();
        }
        metrics::gauge!("bus_connected").set(1.0);
        self.inbox.receive(message)
    }
}
