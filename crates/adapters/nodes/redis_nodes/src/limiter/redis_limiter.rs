//! The implementation of the port.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RatePolicy};
use ports::{QuotaDecision, RateLimiter, RateLimiterError, StreamSlot};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use uuid::Uuid;

use super::{
    circuit::Circuit,
    open_streams::OpenStreams,
    stream_change::LIFETIME,
    take::{key, take},
};
use crate::RedisServer;

/// The wait that a rejection announces while the server does not respond.
const RETRY_IN: Duration = Duration::from_secs(1);

/// A rate limiter of all processes on one server. Its tasks end when it is dropped.
pub struct RedisLimiter {
    store: Uuid,
    circuit: Arc<Circuit>,
    streams: Arc<OpenStreams>,
    /// Counts what this process grants, and decides while the server does not respond.
    fallback: Option<Arc<dyn RateLimiter>>,
    _tasks: DropGuard,
}

impl RedisLimiter {
    /// Starts the tasks of the limiter, which connects in the background. All processes with the same
    /// `store` count together; `process` is unique to this process. While the server does not respond,
    /// the `fallback` of this process decides; without it, requests are rejected. The tasks also end
    /// with `stop`.
    pub fn start(
        server: RedisServer,
        store: Uuid,
        process: Uuid,
        fallback: Option<Arc<dyn RateLimiter>>,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Self {
        let circuit = Arc::new(Circuit::new(server, store));
        let streams = Arc::new(OpenStreams::new(store, process));
        let stop = stop.child_token();
        let background = {
            let (circuit, streams) = (Arc::clone(&circuit), Arc::clone(&streams));
            async move { tokio::join!(circuit.run(), streams.run(&circuit)) }
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(background));
        Self {
            store,
            circuit,
            streams,
            fallback,
            _tasks: stop.drop_guard(),
        }
    }

    /// The time after which the streams of a process that has crashed are forgotten.
    pub const STREAM_LIFETIME: Duration = LIFETIME;

    /// Returns a function that returns true while the processes count together.
    pub fn connectivity(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let circuit = Arc::clone(&self.circuit);
        move || circuit.is_closed()
    }
}

#[async_trait]
impl RateLimiter for RedisLimiter {
    async fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> Result<QuotaDecision, RateLimiterError> {
        let key = key(self.store, holder, policy, quota);
        let take = |mut connection| {
            let key = &key;
            async move { take(&mut connection, key, quota, units).await }
        };
        let taken = self.circuit.call(take);
        match (taken.await, &self.fallback) {
            (Some(decision), Some(fallback)) if decision.is_admitted => {
                // The units that this process granted count if the server does not respond later.
                fallback.take(holder, policy, quota, units).await?;
                Ok(decision)
            }
            (Some(decision), _) => Ok(decision),
            (None, Some(fallback)) => {
                count_fallback("local");
                fallback.take(holder, policy, quota, units).await
            }
            (None, None) => {
                count_fallback("refused");
                Ok(QuotaDecision {
                    is_admitted: false,
                    remaining: 0,
                    more_in: RETRY_IN,
                })
            }
        }
    }

    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        most: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError> {
        let local = match &self.fallback {
            Some(fallback) => match fallback.open_stream(holder, most).await? {
                None => return Ok(None),
                slot => slot,
            },
            None => None,
        };
        let stream = self.streams.open(holder);
        let admit = |mut connection| {
            let stream = &stream;
            async move { self.streams.admit(&mut connection, stream, most).await }
        };
        let admitted = self.circuit.call(admit);
        let is_admitted = admitted.await.unwrap_or_else(|| {
            count_fallback(if local.is_some() { "local" } else { "refused" });
            local.is_some()
        });
        Ok(is_admitted.then(|| StreamSlot::new((stream, local))))
    }
}

/// Counts a decision without the server.
fn count_fallback(decision: &'static str) {
    metrics::counter!("rate_limits_without_redis", "decision" => decision).increment(1);
}
