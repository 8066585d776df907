use ports::UselessAnswer;

use super::*;
use crate::engines::breaker::Breaker;

const PATIENT: Duration = Duration::from_mins(1);

/// Whether an engine is left alone after many attempts that all came to this.
fn is_left_alone(time: Duration, error: impl Fn() -> ReplyError) -> bool {
    let breaker = Breaker::new("llm".to_owned());
    for _ in 0..100 {
        let Ok(leave) = breaker.enter() else { break };
        judge::<()>(leave, time, &Err(error()));
    }
    breaker.is_open()
}

#[test]
fn an_engine_that_does_not_work_is_left_alone() {
    let limited = || ReplyError::RateLimited { retry_after: None };
    assert!(is_left_alone(PATIENT, limited));
    assert!(is_left_alone(PATIENT, || ReplyError::TimedOut));
    let away = || ReplyError::Unavailable("away".into());
    assert!(is_left_alone(PATIENT, away));
    let malformed = || ReplyError::BadAnswer("no JSON".into());
    assert!(is_left_alone(PATIENT, malformed));
}

#[test]
fn no_agent_can_have_an_engine_left_alone_for_all() {
    let refused = || ReplyError::Refused("no such model".into());
    assert!(!is_left_alone(PATIENT, refused));
    let wordless = || ReplyError::BadAnswer(UselessAnswer("not a word").into());
    assert!(!is_left_alone(PATIENT, wordless));
    let hasty = Duration::from_millis(100);
    assert!(!is_left_alone(hasty, || ReplyError::TimedOut));
}

#[test]
fn an_answer_of_no_use_does_not_pass_for_one() {
    let breaker = Breaker::new("llm".to_owned());
    let wordless = Err(ReplyError::BadAnswer(UselessAnswer("not a word").into()));
    let failed = Err(ReplyError::Unavailable("away".into()));
    for number in 0..100 {
        let Ok(leave) = breaker.enter() else { break };
        let result = if number % 5 == 0 { &failed } else { &wordless };
        judge::<()>(leave, PATIENT, result);
    }
    assert!(breaker.is_open(), "half of those that count have failed");
}
