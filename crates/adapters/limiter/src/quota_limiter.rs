//! All principals that share one quota for one policy.

use std::{num::NonZeroU32, time::Duration};

use domain::{Quota, QuotaHolder};
use governor::{
    NotUntil, RateLimiter,
    clock::Clock,
    middleware::{RateLimitingMiddleware as _, StateInformationMiddleware, StateSnapshot},
    state::keyed::DashMapStateStore,
};
use ports::Taken;

/// A quota that fills up more slowly than this is filled up with so many units: governor counts in
/// nanoseconds, and 64 bits of them overflow after 584 years.
const LONGEST_REST: Duration = Duration::from_hours(24 * 365 * 100);

/// Parts of the map that are locked apart. Credentials can have quotas of their own, so there may
/// be thousands of maps: the default of four for each processor would take too much memory.
const SHARDS: usize = 16;

/// Gives every principal the same quota.
pub(crate) struct QuotaLimiter<C: Clock> {
    buckets:
        RateLimiter<QuotaHolder, DashMapStateStore<QuotaHolder>, C, StateInformationMiddleware>,
    /// When `buckets` began to count; it keeps its own reading to itself, which is a little older.
    start: C::Instant,
    /// After this time a unit comes back.
    interval: Duration,
    burst: NonZeroU32,
}

impl<C: Clock + Clone> QuotaLimiter<C> {
    /// Every principal has rested.
    pub(crate) fn new(quota: Quota, clock: &C) -> Self {
        let quota = in_governors_words(quota);
        let store = DashMapStateStore::with_shard_amount(SHARDS);
        Self {
            buckets: RateLimiter::new(quota, store, clock.clone()),
            start: clock.now(),
            interval: quota.replenish_interval(),
            burst: quota.burst_size(),
        }
    }

    /// Takes units, at most the burst.
    pub(crate) fn take(&self, holder: &QuotaHolder, units: NonZeroU32) -> Taken {
        match self.check(holder, units) {
            Ok(afterwards) => {
                let remaining = afterwards.remaining_burst_capacity();
                let full_in = self.full_in(holder, afterwards);
                let rest = self.interval * (self.burst.get() - remaining - 1);
                Taken {
                    is_admitted: true,
                    remaining,
                    // It is not longer, however late `start` was read.
                    more_in: full_in.saturating_sub(rest).min(self.interval),
                }
            }
            Err(refusal) => Taken {
                is_admitted: false,
                remaining: 0,
                more_in: refusal.wait_time_from(self.buckets.clock().now()),
            },
        }
    }

    fn check(
        &self,
        holder: &QuotaHolder,
        units: NonZeroU32,
    ) -> Result<StateSnapshot, NotUntil<C::Instant>> {
        // The only units that are never there are those beyond the burst.
        let checked = self.buckets.check_key_n(holder, units.min(self.burst));
        checked.unwrap_or_else(|_beyond_burst| self.buckets.check_key(holder))
    }

    /// How long until the whole burst is there. Governor's snapshot does not tell; but the refusal
    /// that can be made of it does.
    fn full_in(&self, holder: &QuotaHolder, afterwards: StateSnapshot) -> Duration {
        StateInformationMiddleware::disallow(holder, afterwards, self.start)
            .wait_time_from(self.buckets.clock().now())
    }

    /// Forgets the principals that have rested, and gives their room back.
    pub(crate) fn sweep(&self) {
        self.buckets.retain_recent();
        self.buckets.shrink_to_fit();
    }

    /// How many principals have not rested, or were not swept yet.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }
}

fn in_governors_words(quota: Quota) -> governor::Quota {
    let even = governor::Quota::per_minute(quota.per_minute);
    let most = LONGEST_REST.as_nanos() / even.replenish_interval().as_nanos();
    let most = u32::try_from(most).ok().and_then(NonZeroU32::new);
    even.allow_burst(quota.burst.min(most.unwrap_or(NonZeroU32::MAX)))
}

#[cfg(test)]
mod tests;
