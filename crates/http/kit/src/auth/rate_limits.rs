//! Rate limits of principals, and the headers that report them.

use std::{fmt::Write as _, sync::Arc};

use access::AuthContext;
use actix_web::{
    Error, HttpMessage as _,
    body::MessageBody,
    dev::{ServiceRequest, ServiceResponse},
    http::header::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    web::Data,
};
use application::{files::UploadAllowance, principal_limits::PolicyResult};
use domain::{ProblemCode, RatePolicy};

use super::forwarded_caller::is_counted_elsewhere;
use crate::{
    layers::reject,
    problem::{ApiError, seconds_to_wait},
    request::routed_path,
    state::HttpState,
};

const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The window of all quotas: one minute.
const WINDOW_SECONDS: u32 = 60;
/// The window of the quotas of uploads: one day.
const DAY_SECONDS: u32 = 24 * 60 * 60;
/// The size in bytes of a field with two policies, so that it is written without reallocation.
const FIELD_BYTES: usize = 64;

/// Counts requests of principals before their bodies are read, and reports the remaining quota in
/// every response.
pub async fn rate_limit(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse, Error> {
    let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
    let state = request.app_data::<Data<HttpState>>().cloned();
    let (Some(auth_context), Some(state)) = (auth_context, state) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let path = routed_path(request.request());
    let cost = state.operations.cost_of(request.method().as_str(), path);
    let holder = auth_context.quota_holder();
    let results = if is_counted_elsewhere(&request) {
        Vec::new()
    } else {
        state
            .rates
            .principals
            .take(&holder, &auth_context.limits, cost)
            .await
    };
    let mut response = match check_policies(&results) {
        Ok(()) => {
            let response = next.call(request).await?.map_into_boxed_body();
            let tenant = &auth_context.principal.tenant;
            state.rates.large_responses.bound(tenant, response)
        }
        Err(error) => reject(request, error),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (RATE_LIMIT_POLICY, field(&results, write_policy)),
        (RATE_LIMIT, field(&results, write_state)),
    ] {
        // Quotas of uploads are reported by the handler, or at home.
        let values = value.as_ref().into_iter().chain(headers.get(&name));
        let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
        if let Some(joined) = joined(&values) {
            headers.insert(name, joined);
        }
    }
    Ok(response)
}

fn joined(values: &[&str]) -> Option<HeaderValue> {
    let is_any = !values.is_empty();
    is_any
        .then(|| HeaderValue::try_from(values.join(", ")).ok())
        .flatten()
}

/// Reports the quotas of uploads in a response, beside those of requests.
pub fn report_uploads(headers: &mut HeaderMap, allowance: &UploadAllowance) {
    let UploadAllowance {
        quota,
        uploads,
        wait,
    } = allowance;
    let seconds = seconds_to_wait(*wait);
    let files = quota
        .files
        .map(|limit| ("files", u64::from(limit), uploads.files));
    let bytes = quota
        .bytes
        .map(|limit| ("file_bytes", limit, uploads.bytes));
    let limits = files.into_iter().chain(bytes);
    let policies = limits
        .clone()
        .map(|(name, limit, _)| format!("\"{name}\";q={limit};w={DAY_SECONDS}"));
    let states = limits.map(|(name, limit, used): (&str, u64, u64)| {
        let left = limit.saturating_sub(used);
        format!("\"{name}\";r={left};t={seconds}")
    });
    let policies: Vec<_> = policies.collect();
    let states: Vec<_> = states.collect();
    for (name, items) in [(RATE_LIMIT_POLICY, policies), (RATE_LIMIT, states)] {
        // Numbers and names are valid in a header.
        if let Ok(value) = HeaderValue::try_from(items.join(", ")) {
            headers.insert(name, value);
        }
    }
}

/// Counts a request that has no response of its own, such as a command on a socket.
pub async fn count_request(
    state: &HttpState,
    auth: &AuthContext,
    cost: &[RatePolicy],
) -> Result<(), ApiError> {
    let holder = auth.quota_holder();
    check_policies(
        &state
            .rates
            .principals
            .take(&holder, &auth.limits, cost)
            .await,
    )
}

/// Rejects a request that exceeds a limit.
fn check_policies(results: &[PolicyResult]) -> Result<(), ApiError> {
    let rejection = |result: &PolicyResult| Some((result.policy, result.retry_after()?));
    match results.iter().find_map(rejection) {
        None => Ok(()),
        Some((policy, wait)) => Err(ApiError {
            retry_after: Some(seconds_to_wait(wait)),
            violated_policy: Some(policy.into()),
            ..ApiError::new(ProblemCode::RateLimited)
        }),
    }
}

/// Joins the items that `write` creates for each policy; `None` if there are none.
fn field(
    results: &[PolicyResult],
    write: impl Fn(&mut String, &PolicyResult),
) -> Option<HeaderValue> {
    let mut text = String::with_capacity(FIELD_BYTES);
    for result in results {
        let before = text.len();
        if before > 0 {
            text.push_str(", ");
        }
        let begin = text.len();
        write(&mut text, result);
        if text.len() == begin {
            text.truncate(before);
        }
    }
    (!text.is_empty())
        .then(|| HeaderValue::try_from(text).ok())
        .flatten()
}

/// Writes `"requests";q=600;w=60`: 600 requests in 60 seconds.
fn write_policy(text: &mut String, result: &PolicyResult) {
    let (name, quota) = (result.policy.as_str(), result.quota.per_minute);
    // Writing to a string cannot fail.
    let _ = write!(text, "\"{name}\";q={quota};w={WINDOW_SECONDS}");
}

/// Writes `"requests";r=98;t=1`: 98 requests are possible now, and more in one second.
fn write_state(text: &mut String, result: &PolicyResult) {
    if let Some(decision) = result.decision {
        let (name, remaining) = (result.policy.as_str(), decision.remaining);
        let seconds = seconds_to_wait(decision.more_in);
        let _ = write!(text, "\"{name}\";r={remaining};t={seconds}");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::Quota;
    use ports::QuotaDecision;

    use super::*;

    fn result(policy: RatePolicy, quota: Quota, decision: Option<(u32, u64)>) -> PolicyResult {
        let decision = decision.map(|(remaining, milliseconds)| QuotaDecision {
            is_admitted: true,
            remaining,
            more_in: Duration::from_millis(milliseconds),
        });
        PolicyResult {
            policy,
            quota,
            decision,
        }
    }

    fn fields(results: &[PolicyResult]) -> [Option<String>; 2] {
        let text = |value: Option<HeaderValue>| Some(value?.to_str().unwrap().to_owned());
        [
            text(field(results, write_policy)),
            text(field(results, write_state)),
        ]
    }

    #[test]
    fn each_policy_is_an_item_of_a_structured_list() {
        let requests = result(RatePolicy::Requests, Quota::new(600, 100), Some((98, 100)));
        let chat = result(RatePolicy::Chat, Quota::new(120, 30), Some((0, 30_001)));
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
        let requests = result(RatePolicy::Requests, Quota::new(600, 100), None);
        let chat = result(RatePolicy::Chat, Quota::new(120, 30), Some((7, 500)));
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
        let results = [RatePolicy::Requests, RatePolicy::Chat].map(|it| result(it, quota, most));
        for text in fields(&results).map(Option::unwrap) {
            assert!(text.len() <= FIELD_BYTES, "{text}");
        }
    }
}
