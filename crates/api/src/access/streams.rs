//! How many streams and sockets a principal may have open at once.

use application::access::{Entrant, Limits, TooManyStreams};
use domain::ProblemCode;
use ports::StreamSlot;

use crate::problem::{ApiError, LimitPolicy};

/// Whole seconds after which to try again: one may be closed at any time.
const RETRY_AFTER: u32 = 1;

/// Opens a stream or socket of an entrant, or refuses it. It counts until the slot is dropped,
/// which is to be kept beside it; there is none when nothing can be counted.
pub async fn open_stream(
    limits: &Limits,
    entrant: &Entrant,
) -> Result<Option<StreamSlot>, ApiError> {
    let opened = limits.open_stream(entrant).await;
    opened.map_err(|TooManyStreams| ApiError {
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
        LimitOverrides, Principal, PrincipalId, Quota, QuotaHolder, RateLimits, RatePolicy, Scopes,
        Standing, Timestamp,
    };
    use ports::{Clock, RateLimiter, RateLimiterError, Taken};

    use super::*;

    /// One stream is open, of whoever is asked for.
    struct OneOpen;

    #[async_trait]
    impl RateLimiter for OneOpen {
        async fn take(
            &self,
            _: &QuotaHolder,
            _: RatePolicy,
            _: Quota,
            _: NonZeroU32,
        ) -> Result<Taken, RateLimiterError> {
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
            log_bytes: Quota::new(1_000_000, 5_000_000),
            streams: 32,
        };
        let limits = Limits::new(Arc::new(OneOpen), defaults, Arc::new(Noon));
        let own = LimitOverrides {
            streams: Some(most),
            ..LimitOverrides::default()
        };
        let entrant = Entrant {
            principal: Principal {
                tenant: "default".parse().unwrap(),
                id: PrincipalId::new("ada"),
                scopes: Scopes::all(),
                user_id: None,
            },
            credential: None,
            standing: Standing::ForeignToken,
            allowed_origins: Vec::new(),
            limits: own,
            ends_at: None,
        };
        open_stream(&limits, &entrant).await
    }

    #[actix_web::test]
    async fn who_has_as_many_open_as_may_be_is_told_which_limit_that_is_and_when_to_come_again() {
        assert!(matches!(opened(2).await, Ok(Some(_))));
        let refused = opened(1).await.map(drop).unwrap_err();
        assert_eq!(refused.code, ProblemCode::TooManyStreams);
        assert_eq!(refused.retry_after, Some(1));
        let policy = serde_json::to_value(refused.violated_policy).unwrap();
        assert_eq!(policy, "streams");
    }
}
