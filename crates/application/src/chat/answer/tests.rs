use ports::UselessAnswer;

use super::*;
use crate::engines::breakers::{BreakerPair, Breakers};

const PATIENT: Duration = Duration::from_mins(1);

/// Attempts that are all alike.
#[derive(Clone, Copy)]
struct Attempts {
    /// What their agent gives them.
    time: Duration,
    /// Whether that was up.
    was_cut: bool,
    /// Whether something was said before.
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
    /// Whether an engine is left alone after many of them that all came to this.
    fn have_it_left_alone(self, error: impl Fn() -> ReplyError) -> bool {
        let breaker = breaker();
        for _ in 0..100 {
            let Ok(mut leave) = breaker.enter() else {
                break;
            };
            if self.has_begun {
                leave.begin();
            }
            judge::<()>(leave, self.time, &unanswered(error(), self.was_cut));
        }
        breaker.is_open()
    }
}

fn unanswered(error: ReplyError, was_cut: bool) -> Result<(), Unanswered> {
    Err(Unanswered { error, was_cut })
}

/// Whether an engine is left alone after many attempts that all came to this at once.
fn is_left_alone(error: impl Fn() -> ReplyError) -> bool {
    ATTEMPTS.have_it_left_alone(error)
}

#[test]
fn an_engine_that_does_not_work_is_left_alone() {
    let limited = || ReplyError::RateLimited { retry_after: None };
    assert!(is_left_alone(limited));
    assert!(is_left_alone(|| ReplyError::TimedOut));
    let away = || ReplyError::Unavailable("away".into());
    assert!(is_left_alone(away));
    let malformed = || ReplyError::BadAnswer("no JSON".into());
    assert!(is_left_alone(malformed));
}

#[test]
fn no_agent_can_have_an_engine_left_alone_for_all() {
    let refused = || ReplyError::Refused("no such model".into());
    assert!(!is_left_alone(refused));
    let wordless = || ReplyError::BadAnswer(UselessAnswer("not a word").into());
    assert!(!is_left_alone(wordless));
}

#[test]
fn what_an_agent_cuts_says_nothing_of_an_engine_that_speaks() {
    let [silent, speaking] = [false, true].map(|has_begun| Attempts {
        was_cut: true,
        has_begun,
        ..ATTEMPTS
    });
    assert!(silent.have_it_left_alone(|| ReplyError::TimedOut));
    assert!(!speaking.have_it_left_alone(|| ReplyError::TimedOut));
    let hasty = Attempts {
        time: Duration::from_millis(9_999),
        ..silent
    };
    assert!(!hasty.have_it_left_alone(|| ReplyError::TimedOut));
}

#[test]
fn an_engine_that_falls_silent_is_left_alone_whatever_it_had_said() {
    let begun = Attempts {
        has_begun: true,
        ..ATTEMPTS
    };
    assert!(begun.have_it_left_alone(|| ReplyError::TimedOut));
}

#[test]
fn an_answer_of_no_use_does_not_pass_for_one() {
    let breaker = breaker();
    let wordless = ReplyError::BadAnswer(UselessAnswer("not a word").into());
    let (wordless, failed) = (
        unanswered(wordless, false),
        unanswered(ReplyError::Unavailable("away".into()), false),
    );
    for number in 0..100 {
        let Ok(leave) = breaker.enter() else { break };
        let result = if number % 5 == 0 { &failed } else { &wordless };
        judge::<()>(leave, PATIENT, result);
    }
    assert!(breaker.is_open(), "half of those that count have failed");
}
