//! A rate limiter that admits a fixed number of requests.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use application::principal_limits::PrincipalLimits;
use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RateLimits, RatePolicy};
use ports::{Clock, QuotaDecision, RateLimiter, RateLimiterError, StreamSlot};

/// The time after which a rejected request may be sent again.
pub(crate) const WAIT: Duration = Duration::from_millis(1_500);

const QUOTA: Quota = Quota {
    per_minute: NonZeroU32::new(600).unwrap(),
    burst: NonZeroU32::new(100).unwrap(),
};

/// The number of requests left for all holders together, practically unlimited until it is set.
pub(crate) struct FixedLimiter(AtomicU32);

impl FixedLimiter {
    /// Returns a limiter, and the limits that it enforces.
    pub(crate) fn limits(clock: Arc<dyn Clock>) -> (Arc<Self>, Arc<PrincipalLimits>) {
        let limiter = Arc::new(Self(AtomicU32::new(u32::MAX)));
        let defaults = RateLimits {
            requests: QUOTA,
            chat: QUOTA,
            user_tokens: QUOTA,
            log_bytes: QUOTA,
            streams: 1,
        };
        let limits = PrincipalLimits::new(limiter.clone(), defaults, clock);
        (limiter, Arc::new(limits))
    }

    pub(crate) fn set(&self, left: u32) {
        self.0.store(left, Ordering::SeqCst);
    }
}

#[async_trait]
impl RateLimiter for FixedLimiter {
    async fn take(
        &self,
        _: &QuotaHolder,
        policy: RatePolicy,
        _: Quota,
        _: NonZeroU32,
    ) -> Result<QuotaDecision, RateLimiterError> {
        assert_eq!(policy, RatePolicy::Requests);
        let order = Ordering::SeqCst;
        let before = self
            .0
            .fetch_update(order, order, |left| left.checked_sub(1));
        Ok(QuotaDecision {
            is_admitted: before.is_ok(),
            remaining: before.map_or(0, |before| before - 1),
            more_in: WAIT,
        })
    }

    async fn open_stream(
        &self,
        _: &QuotaHolder,
        _: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError> {
        Ok(None)
    }
}
