//! The implementation of the port, and the removal of idle entries.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RatePolicy};
use governor::clock::MonotonicClock;
use ports::{QuotaDecision, RateLimiter, RateLimiterError, StreamSlot};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::limiter::{open_streams::OpenStreams, rates::Rates};

/// The interval at which idle entries are removed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A rate limiter in the memory of this process.
#[derive(Default)]
pub struct LocalRateLimiter {
    // The clock of the operating system. The faster one of `quanta` is calibrated at startup, for
    // up to 200 ms.
    rates: Rates<MonotonicClock>,
    streams: Arc<OpenStreams>,
}

impl LocalRateLimiter {
    /// Creates a limiter without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes idle entries. Takes a tenth of a second for a million principals, but blocks no
    /// other call for all of it.
    pub fn sweep(&self) {
        self.rates.sweep();
        self.streams.shrink();
    }

    /// Calls [`Self::sweep`] every second until `stop` is cancelled.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        self.sweep_every(SWEEP_INTERVAL, stop).await;
    }

    async fn sweep_every(self: Arc<Self>, period: Duration, stop: CancellationToken) {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let limiter = Arc::clone(&self);
            let swept = tokio::task::spawn_blocking(move || limiter.sweep()).await;
            // `sweep` does not panic, so the runtime is shutting down.
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
    ) -> Result<QuotaDecision, RateLimiterError> {
        Ok(self.rates.take(holder, policy, quota, units))
    }

    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        max: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError> {
        Ok(self.streams.open(holder, max).map(StreamSlot::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::fixture::holder;

    #[tokio::test]
    async fn sweeps_repeatedly_until_it_is_stopped() {
        let limiter = Arc::new(LocalRateLimiter::new());
        let stop = CancellationToken::new();
        let began = std::time::Instant::now();
        let user = async {
            for _ in 0..3 {
                // Idle after two nanoseconds.
                let quota = Quota::new(u32::MAX, 1);
                let ada = holder("ada");
                limiter
                    .rates
                    .take(&ada, RatePolicy::Chat, quota, NonZeroU32::MIN);
                while limiter.rates.len() > 0 {
                    assert!(
                        began.elapsed() < Duration::from_secs(20),
                        "the entry was not removed"
                    );
                    tokio::task::yield_now().await;
                }
            }
            stop.cancel();
        };
        let sweeper = Arc::clone(&limiter).sweep_every(Duration::from_millis(1), stop.clone());
        tokio::join!(sweeper, user);
    }
}
