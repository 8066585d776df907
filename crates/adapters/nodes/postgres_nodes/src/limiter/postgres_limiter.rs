//! The implementation of the port.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RatePolicy};
use ports::{Membership, QuotaDecision, RateLimiter, RateLimiterError, StreamSlot};
use sqlx::postgres::PgConnectOptions;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::limiter::{
    bucket::{Bucket, TakeStep},
    buckets::BucketKey,
    connection_task::ConnectionTask,
    exchange::CALL_TIMEOUT,
    rate::Rate,
    shared::{OpenStream, Shared},
    streams::OpenStep,
};

/// The interval at which idle entries are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A rate limiter that all processes on one database share. Its tasks end when it is dropped.
pub struct PostgresRateLimiter {
    shared: Arc<Shared>,
    _tasks: DropGuard,
}

impl PostgresRateLimiter {
    /// Returns the maximum number of units that a process takes ahead of need.
    pub fn slice(quota: Quota) -> u32 {
        Rate::new(quota).slice
    }

    /// Starts the tasks of the limiter. It connects only while there are several nodes, whose
    /// number `membership` reports. The tasks also end with `stop`.
    pub fn start(
        connect: &PgConnectOptions,
        membership: watch::Receiver<Membership>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let shared = Arc::new(Shared::new(membership.borrow().live.count > 1));
        let stop = stop.child_token();
        let connection = ConnectionTask::new(Arc::clone(&shared), connect.clone(), membership);
        tasks.spawn(stop.clone().run_until_cancelled_owned(connection.run()));
        let sweep = sweep(Arc::clone(&shared));
        tasks.spawn(stop.clone().run_until_cancelled_owned(sweep));
        Self {
            shared,
            _tasks: stop.drop_guard(),
        }
    }
}

async fn sweep(shared: Arc<Shared>) {
    let mut ticks = interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let shared = Arc::clone(&shared);
        // A million principals take a tenth of a second.
        let swept = tokio::task::spawn_blocking(move || shared.sweep()).await;
        // `sweep` does not panic, so the runtime is shutting down.
        if swept.is_err() {
            return;
        }
    }
}

#[async_trait]
impl RateLimiter for PostgresRateLimiter {
    async fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> Result<QuotaDecision, RateLimiterError> {
        let (shared, units) = (&self.shared, units.get());
        let (bucket, now) = ((holder, policy, quota), shared.now());
        let take_locally = |now| {
            let decision = |bucket: &mut Bucket| bucket.take_locally(units, now);
            shared.buckets.with(bucket, now, decision)
        };
        if !shared.is_shared() {
            return Ok(take_locally(now));
        }
        let key = || BucketKey {
            holder: holder.clone(),
            policy,
            quota,
        };
        let taken = |bucket: &mut Bucket| bucket.take_shared(units, now);
        Ok(match shared.buckets.with(bucket, now, taken) {
            TakeStep::Decided {
                decision,
                must_query,
            } => {
                if must_query {
                    shared.push(vec![key()], Vec::new());
                }
                decision
            }
            TakeStep::Waiting {
                decision,
                must_query,
            } => {
                if must_query {
                    shared.push(vec![key()], Vec::new());
                }
                match timeout(CALL_TIMEOUT, decision).await {
                    Ok(Ok(decision)) => decision,
                    // The rows do not respond.
                    Ok(Err(_)) | Err(_) => take_locally(shared.now()),
                }
            }
        })
    }

    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        most: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError> {
        let shared = &self.shared;
        let open_locally = || {
            let is_opened = shared.streams.open_locally(holder, most);
            is_opened.then(|| OpenStream::new(shared, holder))
        };
        if !shared.is_shared() {
            return Ok(open_locally().map(StreamSlot::new));
        }
        let opened = match shared.streams.open_shared(holder, most) {
            OpenStep::Full => None,
            OpenStep::Waiting { stream, must_query } => {
                if must_query {
                    shared.push(Vec::new(), vec![holder.clone()]);
                }
                match timeout(CALL_TIMEOUT, stream).await {
                    Ok(Ok(stream)) => stream,
                    // The rows do not respond.
                    Ok(Err(_)) | Err(_) => open_locally(),
                }
            }
        };
        Ok(opened.map(StreamSlot::new))
    }
}
