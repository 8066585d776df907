//! The retries of requests to a model.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use reqwest::header::{self, HeaderMap, HeaderName};
use tokio::time::Instant;

use crate::error::LlmError;

/// The maximum number of retries of a request.
const MAX_RETRIES: usize = 2;
/// The maximum `Retry-After` that is believed.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// The remaining retries of a request.
#[derive(Debug)]
pub(crate) struct RetryPolicy {
    until: Instant,
    pauses: ExponentialBackoff,
}

impl RetryPolicy {
    /// Creates the policy of a request. `time` is the timeout of the agent, `first_pause` the minimum
    /// pause before the first retry.
    pub(crate) fn new(time: Duration, first_pause: Duration) -> Self {
        Self {
            until: Instant::now() + time,
            pauses: ExponentialBuilder::default()
                .with_min_delay(first_pause)
                .with_max_times(MAX_RETRIES)
                .with_jitter()
                .build(),
        }
    }

    /// Returns the pause before the next attempt; `None` if no further attempt follows.
    pub(crate) fn next_pause(&mut self, error: &LlmError) -> Option<Duration> {
        if !error.is_transient() {
            return None;
        }
        // Added to the time that the upstream requests, so that its clients do not return at the
        // same moment.
        let pause = self.pauses.next()? + error.retry_after().unwrap_or_default();
        let time_left = self.until.saturating_duration_since(Instant::now());
        (pause < time_left).then_some(pause)
    }
}

/// Returns the requested time until the next attempt. A date is compared with the upstream's own
/// clock.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    const IN_MILLISECONDS: HeaderName = HeaderName::from_static("retry-after-ms");
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let date = |text| httpdate::parse_http_date(text).ok();
    let milliseconds = text(IN_MILLISECONDS).and_then(number);
    let requested = milliseconds.map(|it| seconds(it / 1000.0)).or_else(|| {
        let value = text(header::RETRY_AFTER)?;
        if let Some(number) = number(value) {
            return Some(seconds(number));
        }
        let now = date(text(header::DATE)?)?;
        Some(date(value)?.duration_since(now).unwrap_or_default())
    });
    requested.map(|requested| requested.min(MAX_RETRY_AFTER))
}

/// Some servers send fractions of seconds. A number that overflows counts as a long time.
fn number(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(MAX_RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::upstream_error::UpstreamError;

    fn busy(retry_after: Option<Duration>) -> LlmError {
        let upstream_error =
            UpstreamError::read(Some(StatusCode::TOO_MANY_REQUESTS), &Value::Null, None);
        UpstreamError {
            retry_after,
            ..upstream_error
        }
        .into()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn two_retries_follow_after_growing_pauses() {
        let mut policy = RetryPolicy::new(60 * SECOND, SECOND);
        let first = policy.next_pause(&busy(None)).unwrap();
        assert!((SECOND..=2 * SECOND).contains(&first), "{first:?}");
        let second = policy.next_pause(&busy(None)).unwrap();
        assert!((2 * SECOND..=4 * SECOND).contains(&second), "{second:?}");
        assert_eq!(policy.next_pause(&busy(None)), None);
    }

    #[tokio::test]
    async fn the_pause_exceeds_the_requested_time() {
        let mut policy = RetryPolicy::new(60 * SECOND, SECOND);
        let pause = policy.next_pause(&busy(Some(20 * SECOND))).unwrap();
        assert!((21 * SECOND..=22 * SECOND).contains(&pause), "{pause:?}");
    }

    #[tokio::test]
    async fn there_is_no_retry_beyond_the_agents_timeout() {
        let mut policy = RetryPolicy::new(20 * SECOND, SECOND);
        assert_eq!(policy.next_pause(&busy(Some(20 * SECOND))), None);
    }

    #[tokio::test]
    async fn permanent_errors_are_not_retried() {
        let mut policy = RetryPolicy::new(60 * SECOND, SECOND);
        assert_eq!(policy.next_pause(&LlmError::TimedOut), None);
        assert_eq!(policy.next_pause(&LlmError::Malformed("nonsense")), None);
    }

    #[rstest]
    #[case(&[], None)]
    #[case(&[("retry-after", "7")], Some(7_000))]
    #[case(&[("retry-after", " 0 ")], Some(0))]
    #[case(&[("retry-after", "7"), ("retry-after-ms", "250")], Some(250))]
    #[case(&[("retry-after", "7"), ("retry-after-ms", "soon")], Some(7_000))]
    #[case(&[("retry-after", "99999999")], Some(3_600_000))]
    #[case(&[("retry-after", "99999999999999999999999")], Some(3_600_000))]
    #[case(&[("retry-after-ms", "99999999999999999999999999")], Some(3_600_000))]
    #[case(&[("retry-after", "1e999")], Some(3_600_000))]
    #[case(&[("retry-after", "1.5")], Some(1_500))]
    #[case(&[("retry-after-ms", "20.5")], Some(20))]
    #[case(&[("retry-after", "-1")], None)]
    #[case(&[("retry-after", "inf")], None)]
    #[case(&[("retry-after", "NaN")], None)]
    #[case(&[("retry-after", "soon")], None)]
    #[case(&[("retry-after", "Sat, 21 Nov 2026 10:00:30 GMT"), ("date", "Sat, 21 Nov 2026 10:00:00 GMT")], Some(30_000))]
    #[case(&[("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT"), ("date", "Sat, 21 Nov 2026 10:00:00 GMT")], Some(0))]
    #[case(&[("retry-after", "Sat, 21 Nov 2026 10:00:30 GMT")], None)]
    fn retry_after_is_read(
        #[case] headers: &[(&'static str, &'static str)],
        #[case] expected: Option<u128>,
    ) {
        let headers = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, header::HeaderValue::from_static(value))
        });
        let value = retry_after(&headers.collect());
        let value = value.map(|it| it.as_millis());
        assert_eq!(value, expected);
    }
}
