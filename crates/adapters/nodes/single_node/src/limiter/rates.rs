//! The quotas in use.

use std::{collections::HashMap, num::NonZeroU32, sync::Arc};

use domain::{Quota, QuotaHolder, RatePolicy};
use governor::clock::Clock;
use parking_lot::RwLock;
use ports::QuotaDecision;

use crate::limiter::quota_limiter::QuotaLimiter;

type Limiters<C> = HashMap<(RatePolicy, Quota), Arc<QuotaLimiter<C>>>;

/// One limiter for each policy and quota in use. If the quota of a principal changes, its usage
/// starts at zero.
pub(crate) struct Rates<C: Clock> {
    clock: C,
    limiters: RwLock<Limiters<C>>,
}

impl<C: Clock + Default> Default for Rates<C> {
    fn default() -> Self {
        Self {
            clock: C::default(),
            limiters: RwLock::default(),
        }
    }
}

impl<C: Clock + Clone> Rates<C> {
    /// Takes units of a quota.
    pub(crate) fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> QuotaDecision {
        let kind = (policy, quota);
        // The lock is held during the call, so that a sweep does not drop the limiter meanwhile.
        if let Some(limiter) = self.limiters.read().get(&kind) {
            return limiter.take(holder, units);
        }
        self.limiters
            .write()
            .entry(kind)
            .or_insert_with(|| Arc::new(QuotaLimiter::new(quota, &self.clock)))
            .take(holder, units)
    }

    /// Removes idle principals and unused quotas. Other calls are not blocked for the whole time.
    pub(crate) fn sweep(&self) {
        let limiters: Vec<_> = self
            .limiters
            .read()
            .iter()
            .map(|(kind, limiter)| (*kind, Arc::clone(limiter)))
            .collect();
        let mut unused = Vec::new();
        for (kind, limiter) in limiters {
            limiter.sweep();
            if limiter.len() == 0 {
                unused.push(kind);
            }
        }
        if !unused.is_empty() {
            self.remove(&unused);
        }
    }

    fn remove(&self, unused: &[(RatePolicy, Quota)]) {
        let mut limiters = self.limiters.write();
        for kind in unused {
            // It may have been used in the meantime.
            if limiters.get(kind).is_some_and(|limiter| limiter.len() == 0) {
                limiters.remove(kind);
            }
        }
        limiters.shrink_to_fit();
    }
}

#[cfg(test)]
impl<C: Clock + Clone> Rates<C> {
    /// The number of limiters, including empty ones.
    pub(crate) fn len(&self) -> usize {
        self.limiters.read().len()
    }
}

#[cfg(test)]
mod tests;
