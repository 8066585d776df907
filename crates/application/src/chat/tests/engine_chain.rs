use std::time::Duration;

use ports::{ReplyError, UnusableAnswer};

use super::super::engine_chain::*;
use crate::engines::breakers::{BreakerPair, Breakers};

const PATIENT: Duration = Duration::from_mins(1);

/// Equal attempts.
#[derive(Clone, Copy)]
struct Attempts {
    /// The agent's time-out.
    time: Duration,
    /// Whether the time-out ended them.
    was_cut: bool,
    /// Whether the engine had begun to answer.
    has_begun: bool,
}

const ATTEMPTS: Attempts = Attempts {
    time: PATIENT,
    was_cut: false,
    has_begun: false,
};

fn breaker() -> BreakerPair {
    let tenant = domain::TenantId::DEFAULT.parse().unwrap();
    Breakers::new("llm".to_owned()).of(&tenant, None, false)
}

impl Attempts {
    /// Whether many of them with this error open the circuit breaker.
    fn open_the_breaker(self, error: impl Fn() -> ReplyError) -> bool {
        let breaker = breaker();
        for _ in 0..100 {
            let Ok(mut permit) = breaker.enter() else {
                break;
            };
            if self.has_begun {
                permit.begin();
            }
            judge::<()>(permit, self.time, &unanswered(error(), self.was_cut));
        }
        breaker.is_open()
    }
}

fn unanswered(error: ReplyError, was_cut: bool) -> Result<(), FailedAttempt> {
    Err(FailedAttempt { error, was_cut })
}

/// Whether many attempts that fail at once with this error open the circuit breaker.
fn opens_the_breaker(error: impl Fn() -> ReplyError) -> bool {
    ATTEMPTS.open_the_breaker(error)
}

#[test]
fn an_engine_that_does_not_work_opens_the_breaker() {
    let limited = || ReplyError::RateLimited { retry_after: None };
    assert!(opens_the_breaker(limited));
    assert!(opens_the_breaker(|| ReplyError::TimedOut));
    let away = || ReplyError::Unavailable("away".into());
    assert!(opens_the_breaker(away));
    let malformed = || ReplyError::BadAnswer("no JSON".into());
    assert!(opens_the_breaker(malformed));
}

#[test]
fn no_agent_can_open_the_breaker_for_all() {
    let refused = || ReplyError::Refused("no such model".into());
    assert!(!opens_the_breaker(refused));
    let wordless = || ReplyError::BadAnswer(UnusableAnswer("not a word").into());
    assert!(!opens_the_breaker(wordless));
}

#[test]
fn short_timeouts_do_not_count_while_the_engine_answers() {
    let [silent, speaking] = [false, true].map(|has_begun| Attempts {
        was_cut: true,
        has_begun,
        ..ATTEMPTS
    });
    assert!(silent.open_the_breaker(|| ReplyError::TimedOut));
    assert!(!speaking.open_the_breaker(|| ReplyError::TimedOut));
    let hasty = Attempts {
        time: Duration::from_millis(9_999),
        ..silent
    };
    assert!(!hasty.open_the_breaker(|| ReplyError::TimedOut));
}

#[test]
fn an_engine_that_falls_silent_opens_the_breaker_whatever_it_had_said() {
    let begun = Attempts {
        has_begun: true,
        ..ATTEMPTS
    };
    assert!(begun.open_the_breaker(|| ReplyError::TimedOut));
}

#[test]
fn unusable_answers_are_not_counted_as_successes() {
    let breaker = breaker();
    let wordless = ReplyError::BadAnswer(UnusableAnswer("not a word").into());
    let (wordless, failed) = (
        unanswered(wordless, false),
        unanswered(ReplyError::Unavailable("away".into()), false),
    );
    for number in 0..100 {
        let Ok(permit) = breaker.enter() else { break };
        let result = if number % 5 == 0 { &failed } else { &wordless };
        judge::<()>(permit, PATIENT, result);
    }
    assert!(breaker.is_open(), "half of those that count have failed");
}
