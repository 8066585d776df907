//! Rate limits of principals.

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

/// The minimum time between two log messages about an unavailable limiter. Each request would cause
/// one otherwise.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// The rate limits of principals.
///
/// If the limiter is unavailable, all requests are admitted: a few requests too many do less harm
/// than an outage. A warning is logged, at most once a second.
pub struct Limits {
    limiter: Arc<dyn RateLimiter>,
    defaults: RateLimits,
    clock: Arc<dyn Clock>,
    /// The earliest time of the next warning, in milliseconds of `Clock::running_for`.
    next_warning: AtomicU64,
}

/// The error for a principal with the maximum number of open streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many open streams")]
pub struct TooManyStreams;

/// The error for a principal that has used up its quota of event bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many bytes of events written")]
pub struct TooManyLogBytes {
    /// The time until the rejected event may be written.
    pub wait: Duration,
}

/// The result of one policy for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The policy.
    pub policy: RatePolicy,
    /// The principal's quota under the policy.
    pub quota: Quota,
    /// The decision of the limiter. `None` if an earlier policy rejected the request, so that this
    /// one was not applied, or if the limiter was unavailable.
    pub taken: Option<QuotaDecision>,
}

impl Count {
    /// The time until a unit is available again, if the policy rejected the request.
    pub fn refused_for(&self) -> Option<Duration> {
        let taken = self.taken.filter(|taken| !taken.is_admitted)?;
        Some(taken.more_in)
    }
}

impl Limits {
    /// Creates the limits. `defaults` apply to principals without limits of their own.
    pub fn new(limiter: Arc<dyn RateLimiter>, defaults: RateLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limiter,
            defaults,
            clock,
            next_warning: AtomicU64::new(0),
        }
    }

    /// The limits in force for a principal.
    pub fn of(&self, entrant: &AuthContext) -> RateLimits {
        self.defaults.overridden(&entrant.limits)
    }

    /// Takes one unit of each policy, in order. If a policy rejects the request, no units of the
    /// later ones are taken.
    pub async fn take(&self, entrant: &AuthContext, policies: &[RatePolicy]) -> Vec<Count> {
        let holder = QuotaHolder::from(&entrant.principal);
        self.take_from(&holder, &entrant.limits, policies).await
    }

    /// Does the same as `take`, for a holder with these limits of its own.
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

    /// Takes the bytes of an event from the quota of the principal that causes it, before the event
    /// is written. Credentials cannot override this quota.
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

    /// Opens one stream or socket of a principal. It counts until the slot is dropped. Returns no
    /// slot if the limiter is unavailable.
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
        // Only one of several concurrent callers logs the warning.
        self.next_warning
            .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests;
