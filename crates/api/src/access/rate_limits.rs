//! Rate limits of principals, and the headers that report them.

use std::{fmt::Write as _, sync::Arc};

use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};
use application::access::{AuthContext, Count};
use domain::ProblemCode;

use crate::{
    layers::refuse,
    operations::cost_of,
    problem::{ApiError, seconds_to_wait},
    request::routed_path,
    state::ApiState,
};

const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The window of all quotas: one minute.
const WINDOW_SECONDS: u32 = 60;
/// The size in bytes of a field with two policies, so that it is written without reallocation.
const FIELD_BYTES: usize = 64;

/// Counts requests of principals before their bodies are read, and reports the remaining quota in
/// every response.
pub async fn rate_limit(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
    let state = request.app_data::<Data<ApiState>>().cloned();
    let (Some(auth_context), Some(state)) = (auth_context, state) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let path = routed_path(request.request());
    let cost = cost_of(request.method().as_str(), path);
    let counts = state.limits.take(&auth_context, cost).await;
    let mut response = match check_counts(&counts) {
        Ok(()) => {
            let response = next.call(request).await?.map_into_boxed_body();
            let tenant = &auth_context.principal.tenant;
            state.large_responses.bound(tenant, response)
        }
        Err(error) => refuse(request, error),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (RATE_LIMIT_POLICY, field(&counts, write_policy)),
        (RATE_LIMIT, field(&counts, write_state)),
    ] {
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    Ok(response)
}

/// Rejects a request that exceeds a limit.
pub fn check_counts(counts: &[Count]) -> Result<(), ApiError> {
    let refused = |count: &Count| Some((count.policy, count.refused_for()?));
    match counts.iter().find_map(refused) {
        None => Ok(()),
        Some((policy, wait)) => Err(ApiError {
            retry_after: Some(seconds_to_wait(wait)),
            violated_policy: Some(policy.into()),
            ..ApiError::new(ProblemCode::RateLimited)
        }),
    }
}

/// Joins the items that `write` creates for each count; `None` if there are none.
fn field(counts: &[Count], write: impl Fn(&mut String, &Count)) -> Option<HeaderValue> {
    let mut text = String::with_capacity(FIELD_BYTES);
    for count in counts {
        let before = text.len();
        if before > 0 {
            text.push_str(", ");
        }
        let begin = text.len();
        write(&mut text, count);
        if text.len() == begin {
            text.truncate(before);
        }
    }
    (!text.is_empty())
        .then(|| HeaderValue::try_from(text).ok())
        .flatten()
}

/// Writes `"requests";q=600;w=60`: 600 requests in 60 seconds.
fn write_policy(text: &mut String, count: &Count) {
    let (name, quota) = (count.policy.as_str(), count.quota.per_minute);
    // Writing to a string cannot fail.
    let _ = write!(text, "\"{name}\";q={quota};w={WINDOW_SECONDS}");
}

/// Writes `"requests";r=98;t=1`: 98 requests are possible now, and more in one second.
fn write_state(text: &mut String, count: &Count) {
    if let Some(taken) = count.taken {
        let (name, remaining) = (count.policy.as_str(), taken.remaining);
        let seconds = seconds_to_wait(taken.more_in);
        let _ = write!(text, "\"{name}\";r={remaining};t={seconds}");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::{Quota, RatePolicy};
    use ports::QuotaDecision;

    use super::*;

    fn count(policy: RatePolicy, quota: Quota, taken: Option<(u32, u64)>) -> Count {
        let taken = taken.map(|(remaining, milliseconds)| QuotaDecision {
            is_admitted: true,
            remaining,
            more_in: Duration::from_millis(milliseconds),
        });
        Count {
            policy,
            quota,
            taken,
        }
    }

    fn fields(counts: &[Count]) -> [Option<String>; 2] {
        let text = |value: Option<HeaderValue>| Some(value?.to_str().unwrap().to_owned());
        [
            text(field(counts, write_policy)),
            text(field(counts, write_state)),
        ]
    }

    #[test]
    fn each_policy_is_an_item_of_a_structured_list() {
        let requests = count(RatePolicy::Requests, Quota::new(600, 100), Some((98, 100)));
        let chat = count(RatePolicy::Chat, Quota::new(120, 30), Some((0, 30_001)));
        assert_eq!(
            fields(&[requests, chat]).map(Option::unwrap),
            [
                r#""requests";q=600;w=60, "chat";q=120;w=60"#,
                r#""requests";r=98;t=1, "chat";r=0;t=31"#,
            ]
        );
    }

    #[test]
    fn a_limit_that_was_not_counted_is_not_reported() {
        let requests = count(RatePolicy::Requests, Quota::new(600, 100), None);
        let chat = count(RatePolicy::Chat, Quota::new(120, 30), Some((7, 500)));
        let both = r#""requests";q=600;w=60, "chat";q=120;w=60"#.to_owned();
        assert_eq!(
            fields(&[requests, chat]),
            [Some(both), Some(r#""chat";r=7;t=1"#.to_owned())]
        );
        assert_eq!(fields(&[requests])[1], None);
    }

    #[test]
    fn the_longest_fields_fit_into_the_reserved_size() {
        let quota = Quota::new(100_000_000, 1_000_000);
        let most = Some((1_000_000, 60_000));
        let counts = [RatePolicy::Requests, RatePolicy::Chat].map(|it| count(it, quota, most));
        for text in fields(&counts).map(Option::unwrap) {
            assert!(text.len() <= FIELD_BYTES, "{text}");
        }
    }
}
