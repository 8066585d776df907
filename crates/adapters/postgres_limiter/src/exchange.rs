//! The task that asks the rows.

use std::{sync::Arc, time::Duration};

use domain::QuotaHolder;
use ports::{Membership, error::one_line};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use crate::{
    bucket::Bucket,
    buckets::{BucketKey, holder_digest},
    shared::{Queue, Shared},
    statements::{self, StreamRow, UnitRow},
    sweep::Sweep,
};

/// The time limit of a statement. After it, the rows count as unreachable.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(500);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The pauses between attempts to connect: they double.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The interval at which held units are checked for their age.
const TICK: Duration = Duration::from_millis(100);
/// The maximum number of rows in a statement.
const MAX_ROWS: usize = 1_024;

/// Asks the rows that requests wait for.
pub(crate) struct Exchange {
    shared: Arc<Shared>,
    connect: PgConnectOptions,
    membership: watch::Receiver<Membership>,
    /// The buckets with units that were taken ahead of need.
    holding: Vec<BucketKey>,
    has_warned: bool,
}

/// The reason why the rows are not asked any more.
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

impl Exchange {
    pub(crate) const fn new(
        shared: Arc<Shared>,
        connect: PgConnectOptions,
        membership: watch::Receiver<Membership>,
    ) -> Self {
        Self {
            shared,
            connect,
            membership,
            holding: Vec::new(),
            has_warned: false,
        }
    }

    /// Asks rows until the task is dropped.
    pub(crate) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            self.wait_until_several().await;
            match self.connect().await {
                Ok(connection) => {
                    pause = FIRST_PAUSE;
                    match self.serve(connection).await {
                        Stop::Alone => continue,
                        Stop::Unreachable(error) => self.report(&error),
                    }
                }
                Err(error) => self.report(&error),
            }
            self.count_alone_for(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Counts in memory while this node is alone.
    async fn wait_until_several(&mut self) {
        while self.is_alone() {
            metrics::gauge!("limits_shared").set(1.0);
            self.shared.set_rows_decide(false);
            self.decide_alone();
            tokio::select! {
                changed = self.membership.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = self.shared.filled() => {}
            }
        }
    }

    fn is_alone(&mut self) -> bool {
        self.membership.borrow_and_update().live_nodes <= 1
    }

    /// Counts in memory, since the rows cannot be reached.
    async fn count_alone_for(&mut self, pause: Duration) {
        metrics::gauge!("limits_shared").set(0.0);
        self.shared.set_rows_decide(false);
        let end = Instant::now() + pause;
        loop {
            self.decide_alone();
            let filled = tokio::time::timeout_at(end, self.shared.filled());
            if filled.await.is_err() {
                return;
            }
        }
    }

    /// Decides all requests that wait without the rows.
    fn decide_alone(&self) {
        let Queue { buckets, holders } = self.shared.take(usize::MAX);
        for key in buckets {
            let now = self.shared.now();
            let decide = |bucket: &mut Bucket| bucket.decide_alone(now);
            self.shared.buckets.with_known(&key, decide);
        }
        for holder in holders {
            let decisions = self.shared.streams.decide_alone(&holder);
            self.shared.send(&holder, decisions);
        }
    }

    fn report(&mut self, error: &sqlx::Error) {
        let error = one_line(error);
        if std::mem::replace(&mut self.has_warned, true) {
            tracing::debug!(error, "counters of rate limits are unreachable; retrying");
        } else {
            tracing::warn!(
                error,
                "counters of rate limits are unreachable; each node counts on its own until they \
                 can be reached"
            );
        }
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let connect = async {
            let mut connection = self.connect.connect().await?;
            let settings = sqlx::raw_sql(statements::SETTINGS);
            settings.execute(&mut connection).await?;
            Ok(connection)
        };
        in_time(CONNECT_TIMEOUT, connect).await
    }

    /// Asks rows until this node is alone or the rows cannot be reached.
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
        self.shared.set_rows_decide(true);
        self.queue_all();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sweep = Sweep::after_pause();
        loop {
            self.exchange(connection).await?;
            metrics::gauge!("limits_shared").set(1.0);
            if std::mem::replace(&mut self.has_warned, false) {
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
                    self.queue_stale();
                    if sweep.is_due() {
                        in_time(CALL_TIMEOUT, sweep.check_page(connection)).await?;
                    }
                }
            }
        }
    }

    /// Queues what was counted in memory, so that the rows are charged.
    fn queue_all(&self) {
        let now = self.shared.now();
        let unpaid = self.shared.buckets.select(|it| it.queue_if_unpaid(now));
        self.shared.push(unpaid, self.shared.streams.queue_all());
    }

    /// Queues the buckets whose units were not used in time.
    fn queue_stale(&mut self) {
        let (shared, now) = (&self.shared, self.shared.now());
        let mut stale = Vec::new();
        self.holding.retain(|key| {
            let found = shared.buckets.with_known(key, |bucket| {
                (bucket.queue_if_stale(now), bucket.keeps_units())
            });
            let (is_stale, keeps_units) = found.unwrap_or_default();
            if is_stale {
                stale.push(key.clone());
            }
            keeps_units
        });
        shared.push(stale, Vec::new());
    }

    /// Asks queued rows.
    async fn exchange(&mut self, connection: &mut PgConnection) -> Result<(), Stop> {
        let Queue { buckets, holders } = self.shared.take(MAX_ROWS);
        let asked = match self.exchange_units(connection, &buckets).await {
            Ok(()) => self.exchange_streams(connection, &holders).await,
            Err(error) => Err(error),
        };
        asked.map_err(|error| {
            // All are decided in memory.
            self.shared.set_rows_decide(false);
            self.shared.push(buckets, holders);
            self.decide_alone();
            error.into()
        })
    }

    async fn exchange_units(
        &mut self,
        connection: &mut PgConnection,
        keys: &[BucketKey],
    ) -> Result<(), sqlx::Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let asked_at = self.shared.now();
        let rows = keys.iter().filter_map(|key| {
            let ask = self.shared.buckets.with_known(key, |bucket| {
                let (rate, ask) = (bucket.rate(), bucket.ask(asked_at));
                (rate, ask)
            });
            let (rate, ask) = ask?;
            let row = UnitRow {
                key: key.digest(),
                rate,
                ask,
            };
            Some((key, row))
        });
        let (keys, rows): (Vec<_>, Vec<_>) = rows.unzip();
        let start = Instant::now();
        let answers = in_time(CALL_TIMEOUT, statements::take_units(connection, &rows)).await?;
        metrics::histogram!("limiter_seconds").record(start.elapsed());
        let now = self.shared.now();
        let mut again = Vec::new();
        for ((key, row), answer) in keys.into_iter().zip(rows).zip(answers) {
            let applied = self.shared.buckets.with_known(key, |bucket| match answer {
                Some(answer) => (
                    bucket.apply(row.ask, asked_at, answer, now),
                    bucket.starts_to_hold(),
                ),
                None => (true, false),
            });
            let (ask_again, starts_to_hold) = applied.unwrap_or_default();
            if ask_again {
                again.push(key.clone());
            }
            if starts_to_hold {
                self.holding.push(key.clone());
            }
        }
        self.shared.push(again, Vec::new());
        Ok(())
    }

    async fn exchange_streams(
        &self,
        connection: &mut PgConnection,
        holders: &[QuotaHolder],
    ) -> Result<(), sqlx::Error> {
        let rows = holders.iter().filter_map(|holder| {
            let row = StreamRow {
                holder: holder_digest(holder),
                ask: self.shared.streams.ask(holder)?,
            };
            Some((holder, row))
        });
        let (holders, rows): (Vec<_>, Vec<_>) = rows.unzip();
        if rows.is_empty() {
            return Ok(());
        }
        let node = self.membership.borrow().node.uuid();
        let opening = statements::open_streams(connection, node, &rows);
        let answers = in_time(CALL_TIMEOUT, opening).await?;
        let mut again = Vec::new();
        for ((holder, row), answer) in holders.into_iter().zip(rows).zip(answers) {
            let ask_again = match answer {
                Some(granted) => {
                    let (decisions, again) = self.shared.streams.apply(holder, row.ask, granted);
                    self.shared.send(holder, decisions);
                    again
                }
                None => true,
            };
            if ask_again {
                again.push(holder.clone());
            }
        }
        self.shared.push(Vec::new(), again);
        Ok(())
    }
}

impl Drop for Exchange {
    /// Requests that come after the task has ended do not wait for it.
    fn drop(&mut self) {
        self.shared.set_rows_decide(false);
        self.decide_alone();
    }
}

async fn in_time<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let elapsed = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    timeout(limit, call).await.map_err(elapsed)?
}
