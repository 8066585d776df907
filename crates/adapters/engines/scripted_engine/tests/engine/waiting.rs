//! The pauses of the engine, on a paused clock.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use rstest::rstest;
use scripted_engine::{Failure, Script, ScriptedEngine};
use tokio::time::Instant;

use crate::fixture::stream;

const fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// The time of each chunk in milliseconds since the request.
async fn times(script: &Script) -> Vec<u128> {
    let started = Instant::now();
    let stream = stream(&ScriptedEngine::new(), &script.to_message()).await;
    let times = stream.map(|_| started.elapsed().as_millis());
    times.collect().await
}

#[rstest]
#[case::no_pause(Script::words(3), &[0, 0, 0, 0])]
#[case::between(Script::words(3).pause(milliseconds(20)), &[0, 20, 40, 40])]
#[case::before(Script::words(2).first_pause(milliseconds(300)), &[300, 300, 300])]
#[case::both(
    Script::deltas(["a", "b", "c"]).pause(milliseconds(20)).first_pause(milliseconds(300)),
    &[300, 320, 340, 340]
)]
#[case::before_a_silent_end(Script::silence().first_pause(milliseconds(5)), &[5])]
#[case::before_a_failure(
    Script::silence().first_pause(milliseconds(5)).fail(Failure::TimedOut),
    &[5]
)]
#[case::between_until_it_fails(
    Script::words(3).pause(milliseconds(20)).fail_after(2, Failure::TimedOut),
    &[0, 20, 20]
)]
#[tokio::test(start_paused = true)]
async fn pauses_precede_and_separate_the_deltas(#[case] script: Script, #[case] expected: &[u128]) {
    assert_eq!(times(&script).await, expected);
}

#[tokio::test(start_paused = true)]
async fn the_first_pause_starts_when_the_gate_opens() {
    let engine = ScriptedEngine::new();
    let script = Script::words(2).gate("door").first_pause(milliseconds(300));
    let mut stream = stream(&engine, &script.to_message()).await;
    assert!(stream.next().now_or_never().is_none());
    engine.open("window");
    assert!(stream.next().now_or_never().is_none());
    let opened = Instant::now();
    engine.open("door");
    assert_eq!(stream.count().await, 3);
    assert_eq!(opened.elapsed(), milliseconds(300));
}

#[tokio::test(start_paused = true)]
async fn an_open_gate_stays_open_for_all_streams() {
    let engine = ScriptedEngine::new();
    let message = Script::words(1).gate("door").to_message();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut stream = stream(&engine, &message).await;
        assert!(stream.next().now_or_never().is_none());
        waiting.push(stream);
    }
    engine.open("door");
    for stream in waiting {
        assert_eq!(stream.count().await, 2);
    }
    assert_eq!(stream(&engine, &message).await.count().await, 2);
}
