//! How often a principal may come.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use domain::{Quota, QuotaHolder, RateLimits, RatePolicy, Timestamp};
use ports::{Clock, RateLimiter, Taken};

use super::Entrant;

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
    warned_at: AtomicI64,
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
    pub taken: Option<Taken>,
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
            warned_at: AtomicI64::new(0),
        }
    }

    /// The limits in force for an entrant.
    pub fn of(&self, entrant: &Entrant) -> RateLimits {
        self.defaults.overridden(&entrant.limits)
    }

    /// Takes one unit of each policy, in this order. The first that refuses ends it: of the
    /// policies behind it nothing is taken.
    pub async fn take(&self, entrant: &Entrant, policies: &[RatePolicy]) -> Vec<Count> {
        let limits = self.of(entrant);
        let holder = QuotaHolder::from(&entrant.principal);
        let mut counts = Vec::with_capacity(policies.len());
        let mut is_admitted = true;
        for &policy in policies {
            let quota = limits.quota(policy);
            let taken = if is_admitted {
                self.take_one(&holder, policy, quota).await
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

    async fn take_one(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
    ) -> Option<Taken> {
        match self.limiter.take(holder, policy, quota).await {
            Ok(taken) => Some(taken),
            Err(error) => {
                if self.may_warn(self.clock.now()) {
                    tracing::warn!(
                        error = ports::error::chain(&error),
                        "requests cannot be counted, so all are let in"
                    );
                }
                None
            }
        }
    }

    fn may_warn(&self, now: Timestamp) -> bool {
        let last = self.warned_at.load(Ordering::Relaxed);
        if now.since(Timestamp::from_milliseconds(last)) < WARNING_INTERVAL {
            return false;
        }
        // Of those who come at the same moment one says it.
        let (relaxed, now) = (Ordering::Relaxed, now.milliseconds());
        self.warned_at
            .compare_exchange(last, now, relaxed, relaxed)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, num::NonZeroU32, sync::Mutex};

    use async_trait::async_trait;
    use domain::{LimitOverrides, Principal, PrincipalId, Scopes};
    use ports::{RateLimiterError, StreamSlot};

    use super::*;

    const QUOTAS: RateLimits = RateLimits {
        requests: Quota {
            per_minute: NonZeroU32::new(600).unwrap(),
            burst: NonZeroU32::new(100).unwrap(),
        },
        chat: Quota {
            per_minute: NonZeroU32::new(120).unwrap(),
            burst: NonZeroU32::new(30).unwrap(),
        },
        streams: 32,
    };

    /// Counts down from what it was given, and cannot be reached for anything else.
    #[derive(Default)]
    struct Script {
        left: Mutex<HashMap<RatePolicy, u32>>,
    }

    #[async_trait]
    impl RateLimiter for Script {
        async fn take(
            &self,
            holder: &QuotaHolder,
            policy: RatePolicy,
            _: Quota,
        ) -> Result<Taken, RateLimiterError> {
            let (tenant, principal) = (holder.tenant.as_str(), holder.principal.as_str());
            assert_eq!((tenant, principal), ("default", "ada"));
            let mut left = self.left.lock().unwrap();
            let left = left
                .get_mut(&policy)
                .ok_or_else(|| RateLimiterError::Unavailable("away".into()))?;
            let is_admitted = *left > 0;
            *left = left.saturating_sub(1);
            Ok(Taken {
                is_admitted,
                remaining: *left,
                more_in: Duration::from_millis(100),
            })
        }

        async fn open_stream(
            &self,
            _: &QuotaHolder,
            _: u32,
        ) -> Result<Option<StreamSlot>, RateLimiterError> {
            Err(RateLimiterError::Unavailable("away".into()))
        }
    }

    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            Timestamp::from_milliseconds(43_200_000)
        }

        fn running_for(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn limits(left: &[(RatePolicy, u32)]) -> (Limits, Arc<Script>) {
        let script = Arc::new(Script {
            left: Mutex::new(left.iter().copied().collect()),
        });
        let limiter = Arc::clone(&script);
        (Limits::new(limiter, QUOTAS, Arc::new(Noon)), script)
    }

    fn entrant(limits: LimitOverrides) -> Entrant {
        Entrant {
            principal: Principal {
                id: PrincipalId::new("ada"),
                tenant: "default".parse().unwrap(),
                scopes: Scopes::all(),
                user_id: None,
            },
            credential: None,
            allowed_origins: Vec::new(),
            limits,
            ends_at: None,
        }
    }

    use RatePolicy::{Chat, Requests};

    #[tokio::test]
    async fn each_policy_is_counted_by_the_quota_in_force() {
        let (limits, _) = limits(&[(Requests, 5), (Chat, 3)]);
        let own = LimitOverrides {
            chat_burst: Some(3),
            ..LimitOverrides::default()
        };
        let counts = limits.take(&entrant(own), &[Requests, Chat]).await;
        let seen = |count: &Count| (count.policy, count.quota, count.taken.unwrap().remaining);
        let seen: Vec<_> = counts.iter().map(seen).collect();
        assert_eq!(
            seen,
            [
                (Requests, QUOTAS.requests, 4),
                (Chat, Quota::new(120, 3), 2)
            ]
        );
        assert!(counts.iter().all(|count| count.refused_for().is_none()));
    }

    #[tokio::test]
    async fn behind_a_policy_that_refuses_nothing_is_taken() {
        let (limits, script) = limits(&[(Requests, 0), (Chat, 3)]);
        let ada = entrant(LimitOverrides::default());
        let counts = limits.take(&ada, &[Requests, Chat]).await;
        assert_eq!(counts[0].refused_for(), Some(Duration::from_millis(100)));
        assert_eq!((counts[1].policy, counts[1].taken), (Chat, None));
        assert_eq!(script.left.lock().unwrap()[&Chat], 3);
    }

    #[tokio::test]
    async fn a_limiter_that_cannot_be_reached_lets_in() {
        let (limits, _) = limits(&[(Chat, 0)]);
        let ada = entrant(LimitOverrides::default());
        let counts = limits.take(&ada, &[Requests]).await;
        assert_eq!((counts[0].taken, counts[0].refused_for()), (None, None));
        let counts = limits.take(&ada, &[Requests, Chat]).await;
        assert_eq!(counts[0].refused_for(), None);
        assert!(
            counts[1].refused_for().is_some(),
            "what can be counted still refuses"
        );
    }

    #[test]
    fn the_log_is_warned_once_a_second() {
        let (limits, _) = limits(&[]);
        let warned = [5_000, 5_001, 5_999, 6_000, 6_500, 9_000]
            .map(|now| limits.may_warn(Timestamp::from_milliseconds(now)));
        assert_eq!(warned, [true, false, false, true, false, true]);
    }
}
