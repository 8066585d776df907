//! When a question is put again.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use reqwest::header::{self, HeaderMap, HeaderName};
use tokio::time::Instant;

use crate::fault::Fault;

/// How often a question is put again, in the whole of an answer.
const REPEATS: usize = 2;
/// The longest time that an upstream is believed to want.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(1);

/// What is left of the readiness to ask again.
#[derive(Debug)]
pub(crate) struct Patience {
    until: Instant,
    pauses: ExponentialBackoff,
}

impl Patience {
    /// Lasts as long as the agent has time; `first_pause` comes before the first repeat.
    pub(crate) fn new(time: Duration, first_pause: Duration) -> Self {
        Self {
            until: Instant::now() + time,
            pauses: ExponentialBuilder::default()
                .with_min_delay(first_pause)
                .with_max_times(REPEATS)
                .with_jitter()
                .build(),
        }
    }

    /// How long to wait before the question is put again; `None` when it is not.
    pub(crate) fn pause_after(&mut self, fault: &Fault) -> Option<Duration> {
        if !fault.may_pass() {
            return None;
        }
        // On top of what the upstream wants, so that not all come back at the same moment.
        let pause = self.pauses.next()? + fault.retry_after().unwrap_or_default();
        let time_left = self.until.saturating_duration_since(Instant::now());
        (pause < time_left).then_some(pause)
    }
}

/// How long an upstream wants to be left alone. A date is measured against the upstream's own clock.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    const IN_MILLISECONDS: HeaderName = HeaderName::from_static("retry-after-ms");
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let date = |text| httpdate::parse_http_date(text).ok();
    let milliseconds = text(IN_MILLISECONDS).and_then(number);
    let wanted = milliseconds.map(|it| seconds(it / 1000.0)).or_else(|| {
        let told = text(header::RETRY_AFTER)?;
        if let Some(number) = number(told) {
            return Some(seconds(number));
        }
        let now = date(text(header::DATE)?)?;
        Some(date(told)?.duration_since(now).unwrap_or_default())
    });
    wanted.map(|wanted| wanted.min(LONGEST_RETRY_AFTER))
}

/// Some servers tell parts of seconds, too. Who writes any number of digits wants a long time.
fn number(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or(LONGEST_RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use rstest::rstest;
    use serde_json::Value;

    use super::*;
    use crate::complaint::Complaint;

    fn busy(retry_after: Option<Duration>) -> Fault {
        let complaint = Complaint::read(Some(StatusCode::TOO_MANY_REQUESTS), &Value::Null, None);
        Complaint {
            retry_after,
            ..complaint
        }
        .into()
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn asks_twice_more_after_longer_and_longer_pauses() {
        let mut patience = Patience::new(60 * SECOND, SECOND);
        let first = patience.pause_after(&busy(None)).unwrap();
        assert!((SECOND..=2 * SECOND).contains(&first), "{first:?}");
        let second = patience.pause_after(&busy(None)).unwrap();
        assert!((2 * SECOND..=4 * SECOND).contains(&second), "{second:?}");
        assert_eq!(patience.pause_after(&busy(None)), None);
    }

    #[tokio::test]
    async fn waits_as_long_as_the_upstream_wants_and_a_little_more() {
        let mut patience = Patience::new(60 * SECOND, SECOND);
        let pause = patience.pause_after(&busy(Some(20 * SECOND))).unwrap();
        assert!((21 * SECOND..=22 * SECOND).contains(&pause), "{pause:?}");
    }

    #[tokio::test]
    async fn does_not_wait_longer_than_there_is_time() {
        let mut patience = Patience::new(20 * SECOND, SECOND);
        assert_eq!(patience.pause_after(&busy(Some(20 * SECOND))), None);
    }

    #[tokio::test]
    async fn does_not_repeat_what_was_refused() {
        let mut patience = Patience::new(60 * SECOND, SECOND);
        assert_eq!(patience.pause_after(&Fault::TimedOut), None);
        assert_eq!(patience.pause_after(&Fault::Malformed("nonsense")), None);
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
    fn reads_when_to_come_back(
        #[case] headers: &[(&'static str, &'static str)],
        #[case] expected: Option<u128>,
    ) {
        let headers = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, header::HeaderValue::from_static(value))
        });
        let told = retry_after(&headers.collect());
        let told = told.map(|it| it.as_millis());
        assert_eq!(told, expected);
    }
}
