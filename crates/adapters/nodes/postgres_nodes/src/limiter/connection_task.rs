//! The task that keeps the connection to the rows while there are several nodes.

use std::{io, mem, sync::Arc, time::Duration};

use ports::{Membership, error::one_line};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, timeout_at},
};

use crate::limiter::{
    SETTINGS,
    exchange::{CALL_TIMEOUT, Exchange, in_time},
    shared::Shared,
    sweep::Sweep,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The pauses between attempts to connect: they double.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The interval at which held units are checked for their age.
const TICK: Duration = Duration::from_millis(100);

/// The task that keeps the connection to the rows.
pub(crate) struct ConnectionTask {
    shared: Arc<Shared>,
    exchange: Exchange,
    connect: PgConnectOptions,
    membership: watch::Receiver<Membership>,
    /// True once the current connection has answered.
    has_answered: bool,
    has_warned: bool,
}

/// The reason why the rows are not queried any more.
enum Stop {
    /// This node is alone.
    Alone,
    /// The rows cannot be reached.
    Unreachable(sqlx::Error),
}

impl From<sqlx::Error> for Stop {
    fn from(error: sqlx::Error) -> Self {
        Self::Unreachable(error)
    }
}

impl ConnectionTask {
    pub(crate) fn new(
        shared: Arc<Shared>,
        connect: PgConnectOptions,
        membership: watch::Receiver<Membership>,
    ) -> Self {
        Self {
            exchange: Exchange::new(Arc::clone(&shared)),
            shared,
            connect,
            membership,
            has_answered: false,
            has_warned: false,
        }
    }

    /// Queries rows until the task is dropped.
    pub(crate) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        let mut limit = CONNECT_TIMEOUT;
        loop {
            self.wait_until_several().await;
            match self
                .connect(mem::replace(&mut limit, CONNECT_TIMEOUT))
                .await
            {
                Ok(connection) => {
                    pause = FIRST_PAUSE;
                    match self.serve(connection).await {
                        Stop::Alone => continue,
                        // Requests wait for another connection: restarts and poolers cut those that were
                        // idle, although the rows can be reached.
                        Stop::Unreachable(error) if self.has_answered && !is_timeout(&error) => {
                            limit = CALL_TIMEOUT;
                            continue;
                        }
                        Stop::Unreachable(error) => self.report(&error),
                    }
                }
                Err(error) => self.report(&error),
            }
            self.count_locally_for(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Counts in memory while this node is alone.
    async fn wait_until_several(&mut self) {
        while self.is_alone() {
            metrics::gauge!("limits_shared").set(1.0);
            self.shared.set_shared(false);
            self.exchange.decide_locally();
            tokio::select! {
                changed = self.membership.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = self.shared.filled() => {}
            }
        }
    }

    fn is_alone(&mut self) -> bool {
        self.membership.borrow_and_update().live.count <= 1
    }

    /// Counts in memory, since the rows cannot be reached.
    async fn count_locally_for(&mut self, pause: Duration) {
        metrics::gauge!("limits_shared").set(0.0);
        self.shared.set_shared(false);
        let end = Instant::now() + pause;
        loop {
            self.exchange.decide_locally();
            let filled = timeout_at(end, self.shared.filled());
            if filled.await.is_err() {
                return;
            }
        }
    }

    fn report(&mut self, error: &sqlx::Error) {
        let error = one_line(error);
        if mem::replace(&mut self.has_warned, true) {
            tracing::debug!(error, "counters of rate limits are unreachable; retrying");
        } else {
            tracing::warn!(
                error,
                "counters of rate limits are unreachable; each node counts on its own until they \
                 can be reached"
            );
        }
    }

    async fn connect(&self, limit: Duration) -> Result<PgConnection, sqlx::Error> {
        let connect = async {
            let mut connection = self.connect.connect().await?;
            let settings = sqlx::raw_sql(SETTINGS);
            settings.execute(&mut connection).await?;
            Ok(connection)
        };
        in_time(limit, connect).await
    }

    /// Queries rows until this node is alone or the rows cannot be reached.
    async fn serve(&mut self, mut connection: PgConnection) -> Stop {
        match self.serve_until_error(&mut connection).await {
            Err(stop) => {
                if matches!(stop, Stop::Alone) {
                    // The server notices a closed socket as well.
                    let _closed = connection.close().await;
                }
                stop
            }
            Ok(never) => match never {},
        }
    }

    async fn serve_until_error(
        &mut self,
        connection: &mut PgConnection,
    ) -> Result<std::convert::Infallible, Stop> {
        self.has_answered = false;
        self.shared.set_shared(true);
        self.exchange.queue_all();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sweep = Sweep::after_pause();
        loop {
            let membership = *self.membership.borrow();
            self.exchange.query(connection, membership).await?;
            self.has_answered = true;
            metrics::gauge!("limits_shared").set(1.0);
            if mem::replace(&mut self.has_warned, false) {
                tracing::info!("counters of rate limits can be reached; limits are shared again");
            }
            tokio::select! {
                changed = self.membership.changed() => {
                    if changed.is_err() || self.is_alone() {
                        return Err(Stop::Alone);
                    }
                    // This node may have another id, whose streams are not counted yet.
                    self.shared.push(Vec::new(), self.shared.streams.queue_all());
                }
                () = self.shared.filled() => {}
                _ = ticks.tick() => {
                    self.exchange.queue_unused();
                    if sweep.is_due() {
                        in_time(CALL_TIMEOUT, sweep.check_page(connection)).await?;
                    }
                }
            }
        }
    }
}

/// Returns true if the rows did not answer in time: requests have waited long enough.
fn is_timeout(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut)
}
