//! How often a principal may come.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{LimitOverrides, Principal, Quota, QuotaHolder, RateLimits, RatePolicy};
use ports::{Clock, QuotaDecision, RateLimiter, RateLimiterError, StreamSlot};

use super::AuthContext;

/// How often the log says that nothing can be counted: each request would say it again.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// How often a principal may come.
///
/// A limiter that cannot be reached lets everybody in: that a few requests too many are answered
/// does less harm than that none is. The log says so, once a second.
pub struct Limits {
    limiter: Arc<dyn RateLimiter>,
    defaults: RateLimits,
    clock: Arc<dyn Clock>,
    /// When the next warning may be logged, in milliseconds of the monotonic time.
    next_warning: AtomicU64,
}

/// As many streams of a principal are open as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many open streams")]
pub struct TooManyStreams;

/// A principal has written more bytes of events than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many bytes of events written")]
pub struct TooManyLogBytes {
    /// The time until the refused event may be written.
    pub wait: Duration,
}

/// What was counted for one policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// What was counted.
    pub policy: RatePolicy,
    /// The principal's quota of it.
    pub quota: Quota,
    /// The outcome; `None` when a policy before it refused, so that nothing was asked of this
    /// one, or when the limiter could not be reached.
    pub taken: Option<QuotaDecision>,
}

impl Count {
    /// When it refused, how long until it will not.
    pub fn refused_for(&self) -> Option<Duration> {
        let taken = self.taken.filter(|taken| !taken.is_admitted)?;
        Some(taken.more_in)
    }
}

impl Limits {
    /// Limits counted by `limiter`, with these for whoever has none of its own.
    pub fn new(limiter: Arc<dyn RateLimiter>, defaults: RateLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limiter,
            defaults,
            clock,
            next_warning: AtomicU64::new(0),
        }
    }

    /// The limits in force for an entrant.
    pub fn of(&self, entrant: &AuthContext) -> RateLimits {
        self.defaults.overridden(&entrant.limits)
    }

    /// Takes one unit of each policy, in this order. The first that refuses ends it: of the
    /// policies behind it nothing is taken.
    pub async fn take(&self, entrant: &AuthContext, policies: &[RatePolicy]) -> Vec<Count> {
        let holder = QuotaHolder::from(&entrant.principal);
        self.take_from(&holder, &entrant.limits, policies).await
    }

    /// The same for whoever holds the quotas, with limits of its own.
    pub(super) async fn take_from(
        &self,
        holder: &QuotaHolder,
        own: &LimitOverrides,
        policies: &[RatePolicy],
    ) -> Vec<Count> {
        let limits = self.defaults.overridden(own);
        let mut counts = Vec::with_capacity(policies.len());
        let mut is_admitted = true;
        for &policy in policies {
            let quota = limits.quota(policy);
            let taken = if is_admitted {
                self.take_units(holder, policy, quota, NonZeroU32::MIN)
                    .await
            } else {
                None
            };
            is_admitted &= taken.is_none_or(|taken| taken.is_admitted);
            counts.push(Count {
                policy,
                quota,
                taken,
            });
        }
        counts
    }

    /// Takes the bytes of an event that is about to be written, for the principal that causes it.
    /// No credential overrides this quota.
    pub async fn take_log_bytes(
        &self,
        principal: &Principal,
        bytes: usize,
    ) -> Result<(), TooManyLogBytes> {
        let units = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Some(units) = NonZeroU32::new(units) else {
            return Ok(());
        };
        let holder = QuotaHolder::from(principal);
        let (policy, quota) = (RatePolicy::LogBytes, self.defaults.log_bytes);
        match self.take_units(&holder, policy, quota, units).await {
            Some(taken) if !taken.is_admitted => Err(TooManyLogBytes {
                wait: taken.more_in,
            }),
            _ => Ok(()),
        }
    }

    async fn take_units(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> Option<QuotaDecision> {
        match self.limiter.take(holder, policy, quota, units).await {
            Ok(taken) => Some(taken),
            Err(error) => {
                self.warn(&error);
                None
            }
        }
    }

    /// Opens one stream or socket of an entrant: it counts until the slot is dropped. There is no
    /// slot when nothing can be counted.
    pub async fn open_stream(
        &self,
        entrant: &AuthContext,
    ) -> Result<Option<StreamSlot>, TooManyStreams> {
        let holder = QuotaHolder::from(&entrant.principal);
        let most = self.of(entrant).streams;
        match self.limiter.open_stream(&holder, most).await {
            Ok(Some(slot)) => Ok(Some(slot)),
            Ok(None) => Err(TooManyStreams),
            Err(error) => {
                self.warn(&error);
                Ok(None)
            }
        }
    }

    fn warn(&self, error: &RateLimiterError) {
        if self.may_warn(self.clock.running_for()) {
            tracing::warn!(
                error = ports::error::chain(error),
                "nothing can be counted, so all are let in"
            );
        }
    }

    fn may_warn(&self, now: Duration) -> bool {
        let due = self.next_warning.load(Ordering::Relaxed);
        if now < Duration::from_millis(due) {
            return false;
        }
        let next = u64::try_from((now + WARNING_INTERVAL).as_millis()).unwrap_or(u64::MAX);
        // Of concurrent callers one logs it.
        self.next_warning
            .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests;
