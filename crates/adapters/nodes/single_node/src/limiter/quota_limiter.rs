//! The usage of one quota by all principals, for one policy.

use std::{num::NonZeroU32, time::Duration};

use domain::{Quota, QuotaHolder};
use governor::{
    NotUntil, RateLimiter,
    clock::Clock,
    middleware::{RateLimitingMiddleware as _, StateInformationMiddleware, StateSnapshot},
    state::keyed::DashMapStateStore,
};
use ports::QuotaDecision;

/// The maximum time in which a full burst is replenished; the burst is lowered to it. Governor
/// counts nanoseconds in 64 bits, which overflow after 584 years.
const MAX_REPLENISH_TIME: Duration = Duration::from_hours(24 * 365 * 100);

/// The number of shards of the map, each with its own lock. Credentials can have their own quotas,
/// so there may be thousands of maps: the default of four shards per core would take too much
/// memory.
const SHARDS: usize = 16;

/// Limits every principal by the same quota.
pub(crate) struct QuotaLimiter<C: Clock> {
    buckets:
        RateLimiter<QuotaHolder, DashMapStateStore<QuotaHolder>, C, StateInformationMiddleware>,
    /// A time slightly after the start of `buckets`, which does not expose its own.
    start: C::Instant,
    /// The time in which one unit is replenished.
    interval: Duration,
    burst: NonZeroU32,
}

impl<C: Clock + Clone> QuotaLimiter<C> {
    /// Creates a limiter without usage.
    pub(crate) fn new(quota: Quota, clock: &C) -> Self {
        let quota = to_governor_quota(quota);
        let store = DashMapStateStore::with_shard_amount(SHARDS);
        Self {
            buckets: RateLimiter::new(quota, store, clock.clone()),
            start: clock.now(),
            interval: quota.replenish_interval(),
            burst: quota.burst_size(),
        }
    }

    /// Takes units, at most the burst.
    pub(crate) fn take(&self, holder: &QuotaHolder, units: NonZeroU32) -> QuotaDecision {
        match self.check(holder, units) {
            Ok(snapshot) => {
                let remaining = snapshot.remaining_burst_capacity();
                let full_in = self.full_in(holder, snapshot);
                let missing = self.interval * (self.burst.get() - remaining - 1);
                QuotaDecision {
                    is_admitted: true,
                    remaining,
                    // Bounded by the interval, since `start` is read late.
                    more_in: full_in.saturating_sub(missing).min(self.interval),
                }
            }
            Err(rejection) => QuotaDecision {
                is_admitted: false,
                remaining: 0,
                more_in: rejection.wait_time_from(self.buckets.clock().now()),
            },
        }
    }

    fn check(
        &self,
        holder: &QuotaHolder,
        units: NonZeroU32,
    ) -> Result<StateSnapshot, NotUntil<C::Instant>> {
        // Governor fails only for more units than the burst.
        let checked = self.buckets.check_key_n(holder, units.min(self.burst));
        checked.unwrap_or_else(|_beyond_burst| self.buckets.check_key(holder))
    }

    /// Returns the time until the whole burst is available. Governor's snapshot does not expose it,
    /// but a rejection built from the snapshot does.
    fn full_in(&self, holder: &QuotaHolder, snapshot: StateSnapshot) -> Duration {
        StateInformationMiddleware::disallow(holder, snapshot, self.start)
            .wait_time_from(self.buckets.clock().now())
    }

    /// Removes principals whose whole burst is available, and frees their memory.
    pub(crate) fn sweep(&self) {
        self.buckets.retain_recent();
        self.buckets.shrink_to_fit();
    }

    /// The number of principals with usage, including those not yet removed.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }
}

fn to_governor_quota(quota: Quota) -> governor::Quota {
    let even = governor::Quota::per_minute(quota.per_minute);
    let max_burst = MAX_REPLENISH_TIME.as_nanos() / even.replenish_interval().as_nanos();
    let max_burst = u32::try_from(max_burst).ok().and_then(NonZeroU32::new);
    even.allow_burst(quota.burst.min(max_burst.unwrap_or(NonZeroU32::MAX)))
}

#[cfg(test)]
mod tests;
