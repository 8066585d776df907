use tokio::time::advance;

use super::*;

fn breaker() -> Arc<Breaker> {
    Breaker::new(OpenGauge::new("llm".to_owned()))
}

fn fail(breaker: &Arc<Breaker>, times: u32) {
    for _ in 0..times {
        breaker.enter().ok().unwrap().failed();
    }
}

fn succeed(breaker: &Arc<Breaker>, times: u32) {
    for _ in 0..times {
        breaker.enter().ok().unwrap().succeeded();
    }
}

/// Returns the time after which to try again; `None` if an attempt is permitted.
fn wait(breaker: &Arc<Breaker>) -> Option<Duration> {
    breaker.enter().err()
}

#[tokio::test(start_paused = true)]
async fn opens_when_half_of_twenty_attempts_failed() {
    let breaker = breaker();
    succeed(&breaker, 10);
    fail(&breaker, 9);
    assert_eq!(wait(&breaker), None);
    fail(&breaker, 1);
    assert_eq!(wait(&breaker), Some(PAUSE));
}

#[tokio::test(start_paused = true)]
async fn stays_closed_while_fewer_than_half_fail() {
    let breaker = breaker();
    for _ in 0..100 {
        succeed(&breaker, 2);
        fail(&breaker, 1);
    }
    assert_eq!(wait(&breaker), None);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_for_half_a_minute() {
    let breaker = breaker();
    fail(&breaker, 19);
    advance(Duration::from_secs(30)).await;
    fail(&breaker, 1);
    assert_eq!(wait(&breaker), None);
    advance(Duration::from_secs(29)).await;
    fail(&breaker, 19);
    assert_eq!(wait(&breaker), Some(PAUSE));
}

#[tokio::test(start_paused = true)]
async fn one_probe_is_permitted_after_ten_seconds_and_closes_the_breaker_if_it_succeeds() {
    let breaker = breaker();
    fail(&breaker, 20);
    advance(Duration::from_secs(9)).await;
    assert_eq!(wait(&breaker), Some(Duration::from_secs(1)));
    advance(Duration::from_secs(1)).await;
    let probe = breaker.enter().ok().unwrap();
    assert_eq!(wait(&breaker), Some(PAUSE));
    probe.succeeded();
    fail(&breaker, 18);
    assert_eq!(wait(&breaker), None);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_has_begun_to_reply_closes_the_breaker() {
    let breaker = breaker();
    fail(&breaker, 20);
    advance(PAUSE).await;
    let mut probe = breaker.enter().ok().unwrap();
    probe.begin();
    assert_eq!(wait(&breaker), None);
    probe.failed();
    fail(&breaker, 18);
    assert_eq!(wait(&breaker), None);
    fail(&breaker, 1);
    assert_eq!(wait(&breaker), Some(PAUSE));
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_a_result_is_followed_by_another() {
    let breaker = breaker();
    fail(&breaker, 20);
    advance(PAUSE).await;
    let silent = breaker.enter().ok().unwrap();
    advance(PAUSE).await;
    let second = breaker.enter().ok().unwrap();
    assert_eq!(wait(&breaker), Some(PAUSE));
    second.succeeded();
    assert_eq!(wait(&breaker), None);
    drop(silent);
    assert_eq!(wait(&breaker), None);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_opens_the_breaker_again() {
    let breaker = breaker();
    fail(&breaker, 20);
    advance(PAUSE).await;
    fail(&breaker, 1);
    assert_eq!(wait(&breaker), Some(PAUSE));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_is_followed_by_the_next_attempt() {
    let breaker = breaker();
    fail(&breaker, 20);
    advance(PAUSE).await;
    drop(breaker.enter().ok().unwrap());
    succeed(&breaker, 1);
    assert_eq!(wait(&breaker), None);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_from_before_the_opening_does_not_close_the_breaker() {
    let breaker = breaker();
    let early = breaker.enter().ok().unwrap();
    fail(&breaker, 20);
    early.succeeded();
    assert_eq!(wait(&breaker), Some(PAUSE));
}

#[tokio::test(start_paused = true)]
async fn a_suspected_engine_opens_the_breaker_with_its_first_failure() {
    let breaker = breaker();
    breaker.suspect();
    breaker.enter().ok().unwrap().failed();
    assert!(breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_suspected_engine_that_replies_keeps_the_breaker_closed() {
    let breaker = breaker();
    breaker.suspect();
    for _ in 0..3 {
        breaker.enter().ok().unwrap().succeeded();
    }
    breaker.enter().ok().unwrap().failed();
    assert!(!breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_suspicion_ends_after_ten_seconds() {
    let breaker = breaker();
    breaker.suspect();
    advance(Duration::from_secs(10)).await;
    breaker.enter().ok().unwrap().failed();
    assert!(!breaker.is_open());
}
