//! The task that sends the signals of this process.

use std::{sync::Arc, time::Duration};

use ports::error::one_line;
use single_node::bus::{Backoff, MessageWriter, Outbox};
use sqlx::{ConnectOptions as _, PgConnection, postgres::PgConnectOptions};
use tokio::time::{Instant, sleep_until, timeout};
use uuid::Uuid;

use crate::bus::outage::Outage;

/// The shortest time between two sends. Signals that arrive meanwhile are sent together.
const INTERVAL: Duration = Duration::from_millis(20);
/// The longest time between two messages. The listeners of all processes recognise a lost
/// connection by silence.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// The maximum length of a message, in bytes. Postgres rejects 8,000 and more.
const MAX_BYTES: usize = 7_900;
/// The time limit of a call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends messages. The commit need not wait for the disk, because messages are not stored. The setting
/// ends with the statement: behind a pooler, the session may belong to a writer of the store next.
const NOTIFY: &str = "\
    select set_config('synchronous_commit', 'off', true), pg_notify($1, message) \
    from unnest($2::text[]) message";

/// Sends the signals of the outbox.
pub(crate) struct Sender {
    connect: PgConnectOptions,
    channel: String,
    writer: MessageWriter,
    outbox: Arc<Outbox>,
    /// Messages that another connection sends if this one is lost; receivers ignore repeated ones.
    unsent: Vec<String>,
    /// True if the current connection has sent something.
    has_sent: bool,
    outage: Arc<Outage>,
}

impl Sender {
    pub(crate) const fn new(
        connect: PgConnectOptions,
        channel: String,
        process: Uuid,
        outbox: Arc<Outbox>,
        outage: Arc<Outage>,
    ) -> Self {
        Self {
            connect,
            channel,
            writer: MessageWriter::new(process, MAX_BYTES),
            outbox,
            unsent: Vec::new(),
            has_sent: false,
            outage,
        }
    }

    /// Sends until the task is dropped.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            match self.send_until_error(&mut backoff).await {
                Ok(never) => match never {},
                Err(error) => {
                    let error = one_line(&error);
                    // One that is lost after it has worked is only replaced.
                    if !std::mem::take(&mut self.has_sent) {
                        self.outage.begin(&error);
                    }
                    tracing::debug!(error, "cannot send signals to other nodes; reconnecting");
                }
            }
            backoff.pause().await;
        }
    }

    async fn send_until_error(
        &mut self,
        backoff: &mut Backoff,
    ) -> Result<std::convert::Infallible, sqlx::Error> {
        let mut connection = self.connect().await?;
        loop {
            let sent_at = Instant::now();
            self.send(&mut connection).await?;
            self.has_sent = true;
            backoff.reset();
            // A heartbeat if nothing else is to be sent.
            let _filled = timeout(HEARTBEAT, self.outbox.filled()).await;
            sleep_until(sent_at + INTERVAL).await;
        }
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        in_time(self.connect.connect()).await
    }

    async fn send(&mut self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        if self.unsent.is_empty() {
            let signals = self.outbox.take();
            self.unsent = self.writer.write(&signals);
            metrics::counter!("bus_signals_sent").increment(signals.len() as u64);
        }
        let notify = sqlx::query(NOTIFY).bind(&self.channel).bind(&self.unsent);
        in_time(notify.execute(connection)).await?;
        self.unsent.clear();
        Ok(())
    }
}

/// Fails a call that exceeds the time limit, as on a connection whose path has lost its state.
pub(crate) async fn in_time<T>(
    call: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let elapsed = |_| sqlx::Error::PoolTimedOut;
    timeout(CALL_TIMEOUT, call).await.map_err(elapsed)?
}

#[cfg(test)]
mod tests;
