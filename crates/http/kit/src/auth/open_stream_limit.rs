//! The limit on open streams and sockets of a principal.

use access::AuthContext;
use application::principal_limits::{PrincipalLimits, TooManyStreams};
use domain::ProblemCode;
use ports::StreamSlot;

use crate::problem::{ApiError, LimitPolicy};

/// The time in whole seconds after which to retry: a stream may be closed at any time.
const RETRY_AFTER: u32 = 1;

/// Counts a stream or socket of a principal, or rejects it. It is counted until the returned slot
/// is dropped; the slot is `None` if the limiter is unavailable.
pub async fn open_stream(
    limits: &PrincipalLimits,
    auth_context: &AuthContext,
) -> Result<Option<StreamSlot>, ApiError> {
    let holder = auth_context.quota_holder();
    let opened = limits.open_stream(&holder, &auth_context.limits);
    opened.await.map_err(|TooManyStreams| ApiError {
        retry_after: Some(RETRY_AFTER),
        violated_policy: Some(LimitPolicy::Streams),
        ..ApiError::new(ProblemCode::TooManyStreams)
    })
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, sync::Arc, time::Duration};

    use async_trait::async_trait;
    use domain::{
        CredentialSource, LimitOverrides, Principal, PrincipalId, Quota, QuotaHolder, RateLimits,
        RatePolicy, Scopes, Timestamp,
    };
    use ports::{Clock, QuotaDecision, RateLimiter, RateLimiterError};

    use super::*;

    /// One stream is open for any principal.
    struct OneOpen;

    #[async_trait]
    impl RateLimiter for OneOpen {
        async fn take(
            &self,
            _: &QuotaHolder,
            _: RatePolicy,
            _: Quota,
            _: NonZeroU32,
        ) -> Result<QuotaDecision, RateLimiterError> {
            Err(RateLimiterError::Unavailable("not asked for".into()))
        }

        async fn open_stream(
            &self,
            _: &QuotaHolder,
            most: u32,
        ) -> Result<Option<StreamSlot>, RateLimiterError> {
            Ok((most > 1).then(|| StreamSlot::new(())))
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

    async fn opened(most: u32) -> Result<Option<StreamSlot>, ApiError> {
        let defaults = RateLimits {
            requests: Quota::new(600, 100),
            chat: Quota::new(120, 30),
            user_tokens: Quota::new(6_000, 1_000),
            log_bytes: Quota::new(1_000_000, 5_000_000),
            streams: 32,
        };
        let limits = PrincipalLimits::new(Arc::new(OneOpen), defaults, Arc::new(Noon));
        let own = LimitOverrides {
            streams: Some(most),
            ..LimitOverrides::default()
        };
        let auth_context = AuthContext {
            principal: Principal {
                tenant: "default".parse().unwrap(),
                id: PrincipalId::new("ada"),
                scopes: Scopes::all(),
                user_id: None,
                agents: domain::AgentReach::ALL,
                names_user: false,
            },
            credential: None,
            source: Arc::new(CredentialSource::ExternalToken),
            allowed_origins: Vec::new(),
            limits: own,
            ends_at: None,
        };
        open_stream(&limits, &auth_context).await
    }

    #[actix_web::test]
    async fn a_stream_over_the_limit_is_rejected_with_policy_and_wait() {
        assert!(matches!(opened(2).await, Ok(Some(_))));
        let rejected = opened(1).await.map(drop).unwrap_err();
        assert_eq!(rejected.code, ProblemCode::TooManyStreams);
        assert_eq!(rejected.retry_after, Some(1));
        let policy = serde_json::to_value(rejected.violated_policy).unwrap();
        assert_eq!(policy, "streams");
    }
}
