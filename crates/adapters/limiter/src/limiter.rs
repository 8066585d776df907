//! The port, and the sweeper.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RatePolicy};
use governor::clock::MonotonicClock;
use ports::{RateLimiter, RateLimiterError, StreamSlot, Taken};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{open_streams::OpenStreams, rates::Rates};

/// How often what has rested is forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Counts what principals do, in the memory of this process.
#[derive(Default)]
pub struct LocalRateLimiter {
    // The operating system's clock: the faster one of `quanta` is calibrated at the start, for up
    // to 200 ms.
    rates: Rates<MonotonicClock>,
    streams: Arc<OpenStreams>,
}

impl LocalRateLimiter {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what has rested. Takes a tenth of a second when there were a million principals, but
    /// nobody waits for the whole of it.
    pub fn sweep(&self) {
        self.rates.sweep();
        self.streams.shrink();
    }

    /// Sweeps every second until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        self.sweep_every(SWEEP_EVERY, stop).await;
    }

    async fn sweep_every(self: Arc<Self>, period: Duration, stop: CancellationToken) {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let limiter = Arc::clone(&self);
            let swept = tokio::task::spawn_blocking(move || limiter.sweep()).await;
            // It does not panic, so the runtime is shutting down.
            if swept.is_err() {
                return;
            }
        }
    }
}

#[async_trait]
impl RateLimiter for LocalRateLimiter {
    async fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> Result<Taken, RateLimiterError> {
        Ok(self.rates.take(holder, policy, quota, units))
    }

    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        most: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError> {
        Ok(self.streams.open(holder, most).map(StreamSlot::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::holder;

    #[tokio::test]
    async fn sweeps_again_and_again_until_it_is_stopped() {
        let limiter = Arc::new(LocalRateLimiter::new());
        let stop = CancellationToken::new();
        let began = std::time::Instant::now();
        let user = async {
            for _ in 0..3 {
                // Rested after two nanoseconds.
                let quota = Quota::new(u32::MAX, 1);
                let ada = holder("ada");
                limiter
                    .rates
                    .take(&ada, RatePolicy::Chat, quota, NonZeroU32::MIN);
                while limiter.rates.len() > 0 {
                    assert!(began.elapsed() < Duration::from_secs(20), "it stays");
                    tokio::task::yield_now().await;
                }
            }
            stop.cancel();
        };
        let sweeper = Arc::clone(&limiter).sweep_every(Duration::from_millis(1), stop.clone());
        tokio::join!(sweeper, user);
    }
}
