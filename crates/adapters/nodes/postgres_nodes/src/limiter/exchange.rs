//! The exchange of units and streams with the rows.

use std::{sync::Arc, time::Duration};

use domain::QuotaHolder;
use ports::Membership;
use sqlx::PgConnection;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::limiter::{
    bucket::Bucket,
    buckets::{BucketKey, holder_digest},
    shared::{Queue, Shared},
    statements::{self, StreamRow, UnitRow},
};

/// The time limit of a statement. After it, the rows count as unreachable.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum number of rows in a statement.
const MAX_ROWS: usize = 1_024;

/// Queries the rows that requests wait for.
pub(crate) struct Exchange {
    shared: Arc<Shared>,
    /// The buckets with units that were taken ahead of need.
    holding: Vec<BucketKey>,
}

impl Exchange {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            holding: Vec::new(),
        }
    }

    /// Decides all requests that wait without the rows.
    pub(crate) fn decide_locally(&self) {
        let Queue { buckets, holders } = self.shared.take(usize::MAX);
        for key in buckets {
            let now = self.shared.now();
            let decide = |bucket: &mut Bucket| bucket.decide_locally(now);
            self.shared.buckets.with_known(&key, decide);
        }
        for holder in holders {
            let decisions = self.shared.streams.decide_locally(&holder);
            self.shared.send(&holder, decisions);
        }
    }

    /// Queues what was counted in memory, so that the rows are charged.
    pub(crate) fn queue_all(&self) {
        let now = self.shared.now();
        let unpaid = self.shared.buckets.select(|it| it.queue_if_unpaid(now));
        self.shared.push(unpaid, self.shared.streams.queue_all());
    }

    /// Queues the buckets whose units were not used in time.
    pub(crate) fn queue_unused(&mut self) {
        let (shared, now) = (&self.shared, self.shared.now());
        let mut unused = Vec::new();
        self.holding.retain(|key| {
            let found = shared.buckets.with_known(key, |bucket| {
                (bucket.queue_if_unused(now), bucket.keeps_units())
            });
            let (is_unused, keeps_units) = found.unwrap_or_default();
            if is_unused {
                unused.push(key.clone());
            }
            keeps_units
        });
        shared.push(unused, Vec::new());
    }

    /// Queries queued rows for a node. After an error, all requests still wait.
    pub(crate) async fn query(
        &mut self,
        connection: &mut PgConnection,
        membership: Membership,
    ) -> Result<(), sqlx::Error> {
        let (node, nodes) = (membership.node.uuid(), membership.live.count);
        let Queue { buckets, holders } = self.shared.take(MAX_ROWS);
        if let Err(error) = self.query_buckets(connection, nodes, &buckets).await {
            self.shared.push(buckets, holders);
            return Err(error);
        }
        // The responses for the buckets are applied.
        let queried = self.query_streams(connection, node, &holders).await;
        if queried.is_err() {
            self.shared.push(Vec::new(), holders);
        }
        queried
    }

    async fn query_buckets(
        &mut self,
        connection: &mut PgConnection,
        nodes: u32,
        keys: &[BucketKey],
    ) -> Result<(), sqlx::Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let sent_at = self.shared.now();
        let rows = keys.iter().filter_map(|key| {
            let request = self.shared.buckets.with_known(key, |bucket| {
                let (rate, request) = (bucket.rate(), bucket.next_request(sent_at));
                (rate, request)
            });
            let (rate, request) = request?;
            let row = UnitRow {
                key: key.digest(),
                rate,
                request,
                most_held: rate.most_held(nodes),
            };
            Some((key, row))
        });
        let (keys, rows): (Vec<_>, Vec<_>) = rows.unzip();
        let start = Instant::now();
        let responses = in_time(CALL_TIMEOUT, statements::take_units(connection, &rows)).await?;
        metrics::histogram!("limiter_seconds").record(start.elapsed());
        let now = self.shared.now();
        let mut again = Vec::new();
        for ((key, row), response) in keys.into_iter().zip(rows).zip(responses) {
            let applied = self
                .shared
                .buckets
                .with_known(key, |bucket| match response {
                    Some(response) => (
                        bucket.apply(row.request, sent_at, response, now),
                        bucket.starts_to_hold(),
                    ),
                    None => (true, false),
                });
            let (query_again, starts_to_hold) = applied.unwrap_or_default();
            if query_again {
                again.push(key.clone());
            }
            if starts_to_hold {
                self.holding.push(key.clone());
            }
        }
        self.shared.push(again, Vec::new());
        Ok(())
    }

    async fn query_streams(
        &self,
        connection: &mut PgConnection,
        node: Uuid,
        holders: &[QuotaHolder],
    ) -> Result<(), sqlx::Error> {
        let rows = holders.iter().filter_map(|holder| {
            let row = StreamRow {
                holder: holder_digest(holder),
                request: self.shared.streams.next_request(holder)?,
            };
            Some((holder, row))
        });
        let (holders, rows): (Vec<_>, Vec<_>) = rows.unzip();
        if rows.is_empty() {
            return Ok(());
        }
        let opening = statements::open_streams(connection, node, &rows);
        let responses = in_time(CALL_TIMEOUT, opening).await?;
        let mut again = Vec::new();
        for ((holder, row), response) in holders.into_iter().zip(rows).zip(responses) {
            let query_again = match response {
                Some(granted) => {
                    let (decisions, again) =
                        self.shared.streams.apply(holder, row.request, granted);
                    self.shared.send(holder, decisions);
                    again
                }
                None => true,
            };
            if query_again {
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
        self.shared.set_shared(false);
        self.decide_locally();
    }
}

/// Awaits a call for at most `limit`.
pub(crate) async fn in_time<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let elapsed = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    timeout(limit, call).await.map_err(elapsed)?
}
