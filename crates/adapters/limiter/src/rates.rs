//! The quotas in use.

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use domain::{Quota, QuotaHolder, RatePolicy};
use governor::clock::Clock;
use ports::Taken;

use crate::quota_limiter::QuotaLimiter;

type Limiters<C> = HashMap<(RatePolicy, Quota), Arc<QuotaLimiter<C>>>;

/// One limiter for each policy and quota in use. So a principal whose quota changes begins anew.
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
    ) -> Taken {
        let kind = (policy, quota);
        // The lock is held while it is taken, so that a sweep does not drop the limiter meanwhile.
        if let Some(limiter) = self.read().get(&kind) {
            return limiter.take(holder, units);
        }
        self.write()
            .entry(kind)
            .or_insert_with(|| Arc::new(QuotaLimiter::new(quota, &self.clock)))
            .take(holder, units)
    }

    /// Forgets the principals that have rested and the quotas that nobody uses. Takers do not wait
    /// for the length of it.
    pub(crate) fn sweep(&self) {
        let limiters: Vec<_> = self
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
        let mut limiters = self.write();
        for kind in unused {
            // It may have been used since.
            if limiters.get(kind).is_some_and(|limiter| limiter.len() == 0) {
                limiters.remove(kind);
            }
        }
        limiters.shrink_to_fit();
    }

    fn read(&self) -> RwLockReadGuard<'_, Limiters<C>> {
        self.limiters.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Limiters<C>> {
        self.limiters
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl<C: Clock + Clone> Rates<C> {
    /// How many limiters there are, empty ones too.
    pub(crate) fn len(&self) -> usize {
        self.read().len()
    }
}

#[cfg(test)]
mod tests;
