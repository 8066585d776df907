use std::{collections::HashMap, num::NonZeroU32, sync::Mutex};

use async_trait::async_trait;
use domain::{Principal, PrincipalId, Scopes, Timestamp};
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
    user_tokens: Quota {
        per_minute: NonZeroU32::new(6_000).unwrap(),
        burst: NonZeroU32::new(1_000).unwrap(),
    },
    log_bytes: Quota {
        per_minute: NonZeroU32::new(1_000_000).unwrap(),
        burst: NonZeroU32::new(5_000_000).unwrap(),
    },
    streams: 32,
};

/// A limiter that counts down from the units in `left`. It is unavailable for all other policies.
#[derive(Default)]
struct Script {
    left: Mutex<HashMap<RatePolicy, u32>>,
    /// The number of open streams. `None` makes the limiter unavailable for streams.
    open_streams: Option<u32>,
}

#[async_trait]
impl RateLimiter for Script {
    async fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        _: Quota,
        units: NonZeroU32,
    ) -> Result<QuotaDecision, RateLimiterError> {
        let (tenant, principal) = (holder.tenant.as_str(), holder.principal.as_str());
        assert_eq!((tenant, principal), ("default", "ada"));
        let mut left = self.left.lock().unwrap();
        let left = left
            .get_mut(&policy)
            .ok_or_else(|| RateLimiterError::Unavailable("away".into()))?;
        let is_admitted = *left >= units.get();
        if is_admitted {
            *left -= units.get();
        }
        Ok(QuotaDecision {
            is_admitted,
            remaining: *left,
            more_in: Duration::from_millis(100),
        })
    }

    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        most: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError> {
        assert_eq!(holder.principal.as_str(), "ada");
        match self.open_streams {
            Some(open) => Ok((open < most).then(|| StreamSlot::new(()))),
            None => Err(RateLimiterError::Unavailable("away".into())),
        }
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

fn limits(left: &[(RatePolicy, u32)]) -> (PrincipalLimits, Arc<Script>) {
    let script = Arc::new(Script {
        left: Mutex::new(left.iter().copied().collect()),
        open_streams: None,
    });
    let limiter = Arc::clone(&script);
    (
        PrincipalLimits::new(limiter, QUOTAS, Arc::new(Noon)),
        script,
    )
}

fn limits_of_streams(open_streams: Option<u32>) -> PrincipalLimits {
    let limiter = Arc::new(Script {
        open_streams,
        ..Script::default()
    });
    PrincipalLimits::new(limiter, QUOTAS, Arc::new(Noon))
}

fn ada() -> QuotaHolder {
    QuotaHolder {
        tenant: "default".parse().unwrap(),
        principal: PrincipalId::new("ada"),
    }
}

use RatePolicy::{Chat, LogBytes, Requests};

#[tokio::test]
async fn each_policy_is_counted_by_the_quota_in_force() {
    let (limits, _) = limits(&[(Requests, 5), (Chat, 3)]);
    let own = LimitOverrides {
        chat_burst: Some(3),
        ..LimitOverrides::default()
    };
    let counts = limits.take(&ada(), &own, &[Requests, Chat]).await;
    let seen =
        |count: &PolicyResult| (count.policy, count.quota, count.decision.unwrap().remaining);
    let seen: Vec<_> = counts.iter().map(seen).collect();
    assert_eq!(
        seen,
        [
            (Requests, QUOTAS.requests, 4),
            (Chat, Quota::new(120, 3), 2)
        ]
    );
    assert!(counts.iter().all(|count| count.retry_after().is_none()));
}

#[tokio::test]
async fn behind_a_policy_that_refuses_nothing_is_taken() {
    let (limits, script) = limits(&[(Requests, 0), (Chat, 3)]);
    let counts = limits
        .take(&ada(), &LimitOverrides::default(), &[Requests, Chat])
        .await;
    assert_eq!(counts[0].retry_after(), Some(Duration::from_millis(100)));
    assert_eq!((counts[1].policy, counts[1].decision), (Chat, None));
    assert_eq!(script.left.lock().unwrap()[&Chat], 3);
}

#[tokio::test]
async fn a_limiter_that_cannot_be_reached_lets_in() {
    let (limits, _) = limits(&[(Chat, 0)]);
    let counts = limits
        .take(&ada(), &LimitOverrides::default(), &[Requests])
        .await;
    assert_eq!((counts[0].decision, counts[0].retry_after()), (None, None));
    let counts = limits
        .take(&ada(), &LimitOverrides::default(), &[Requests, Chat])
        .await;
    assert_eq!(counts[0].retry_after(), None);
    assert!(
        counts[1].retry_after().is_some(),
        "what can be counted still refuses"
    );
}

#[tokio::test]
async fn bytes_of_events_are_counted_as_many_units() {
    let ada = Principal {
        id: PrincipalId::new("ada"),
        tenant: "default".parse().unwrap(),
        scopes: Scopes::all(),
        user_id: None,
        agents: domain::AgentReach::ALL,
        names_user: false,
    };
    let (counted, _) = limits(&[(LogBytes, 100)]);
    assert_eq!(counted.take_log_bytes(&ada, 60).await, Ok(()));
    let wait = Duration::from_millis(100);
    let rejected = Err(TooManyLogBytes { wait });
    assert_eq!(counted.take_log_bytes(&ada, 60).await, rejected);
    assert_eq!(counted.take_log_bytes(&ada, 0).await, Ok(()));
    let (unreachable, _) = limits(&[]);
    assert_eq!(unreachable.take_log_bytes(&ada, 60).await, Ok(()));
}

#[tokio::test]
async fn streams_are_counted_by_the_limit_in_force() {
    let own = LimitOverrides {
        streams: Some(3),
        ..LimitOverrides::default()
    };
    for (own, most) in [(LimitOverrides::default(), 32), (own, 3)] {
        let slot = limits_of_streams(Some(most - 1))
            .open_stream(&ada(), &own)
            .await;
        assert!(matches!(slot, Ok(Some(_))), "with {} open", most - 1);
        let slot = limits_of_streams(Some(most))
            .open_stream(&ada(), &own)
            .await;
        assert!(matches!(slot, Err(TooManyStreams)), "with {most} open");
    }
}

#[tokio::test]
async fn streams_that_cannot_be_counted_are_let_in_without_a_slot() {
    let slot = limits_of_streams(None)
        .open_stream(&ada(), &LimitOverrides::default())
        .await;
    assert!(matches!(slot, Ok(None)));
}

#[test]
fn the_log_is_warned_once_a_second() {
    let (limits, _) = limits(&[]);
    let warned =
        [0, 1, 999, 1_000, 1_500, 4_000].map(|now| limits.may_warn(Duration::from_millis(now)));
    assert_eq!(warned, [true, false, false, true, false, true]);
}
