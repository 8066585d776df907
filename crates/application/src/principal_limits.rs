//! The rate limits of principals.

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

/// The minimum time between two log messages about an unavailable limiter. Each request would cause
/// one otherwise.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// The rate limits of principals.
///
/// If the limiter is unavailable, all requests are admitted: a few requests too many do less harm
/// than an outage. A warning is logged, at most once a second.
pub struct PrincipalLimits {
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
pub struct PolicyResult {
    /// The policy.
    pub policy: RatePolicy,
    /// The principal's quota under the policy.
    pub quota: Quota,
    /// The decision of the limiter. `None` if an earlier policy rejected the request, so that this
    /// one was not applied, or if the limiter was unavailable.
    pub decision: Option<QuotaDecision>,
}

impl PolicyResult {
    /// The time until a unit is available again, if the policy rejected the request.
    pub fn retry_after(&self) -> Option<Duration> {
        let rejection = self.decision.filter(|decision| !decision.is_admitted)?;
        Some(rejection.more_in)
    }
}

impl PrincipalLimits {
    /// Creates the limits. `defaults` apply to principals without limits of their own.
    pub fn new(limiter: Arc<dyn RateLimiter>, defaults: RateLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limiter,
            defaults,
            clock,
            next_warning: AtomicU64::new(0),
        }
    }

    /// The limits in force for a credential with these overrides.
    pub fn in_force(&self, overrides: &LimitOverrides) -> RateLimits {
        self.defaults.overridden(overrides)
    }

    /// Takes one unit of each policy, in order. If a policy rejects the request, no units of the
    /// later ones are taken.
    pub async fn take(
        &self,
        holder: &QuotaHolder,
        overrides: &LimitOverrides,
        policies: &[RatePolicy],
    ) -> Vec<PolicyResult> {
        let limits = self.in_force(overrides);
        let mut results = Vec::with_capacity(policies.len());
        let mut is_admitted = true;
        for &policy in policies {
            let quota = limits.quota(policy);
            let decision = if is_admitted {
                self.take_units(holder, policy, quota, NonZeroU32::MIN)
                    .await
            } else {
                None
            };
            is_admitted &= decision.is_none_or(|decision| decision.is_admitted);
            results.push(PolicyResult {
                policy,
                quota,
                decision,
            });
        }
        results
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
            Some(decision) if !decision.is_admitted => Err(TooManyLogBytes {
                wait: decision.more_in,
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
            Ok(decision) => Some(decision),
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
        holder: &QuotaHolder,
        overrides: &LimitOverrides,
    ) -> Result<Option<StreamSlot>, TooManyStreams> {
        let most = self.in_force(overrides).streams;
        match self.limiter.open_stream(holder, most).await {
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
                error = ports::error::one_line(error),
                "rate limiter unavailable; admitting all requests"
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
