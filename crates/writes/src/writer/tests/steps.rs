//! Tests of commits of journals.

use domain::TurnStep;

use super::{changes::release, writing::Writing};

/// Steps need no head: another process may write to the tenant meanwhile.
#[tokio::test]
async fn steps_are_written_without_reading_while_another_process_writes() {
    let mut writing = Writing::start();
    let running = writing.started(1).await.turn_id;
    assert_eq!(writing.counts(), (1, 0, 0));
    for count in 1..=100 {
        writing.raise_head();
        let record = writing.record_step(1, running);
        assert!(writing.write(record).await.unwrap().is_recorded());
        assert_eq!(writing.counts(), (1, count, 0));
    }
    assert_eq!(writing.journal(running).len(), 50);
    assert!(writing.journal(running).iter().all(TurnStep::has_ended));
}

#[tokio::test]
async fn steps_of_a_turn_that_runs_elsewhere_are_not_written() {
    let mut writing = Writing::start();
    let running = writing.started(1).await.turn_id;
    assert!(writing.write(release(1, running)).await.unwrap());
    let record = writing.record_step(1, running);
    assert!(!writing.write(record.clone()).await.unwrap().is_recorded());
    assert!(!writing.write(release(1, running)).await.unwrap());
    assert!(writing.journal(running).is_empty());
    writing.resume_unowned_turns();
    assert!(writing.write(record).await.unwrap().is_recorded());
    assert_eq!(writing.journal(running).len(), 1);
}

/// The facts of the head are not confirmed by a write that does not check it.
#[tokio::test]
async fn facts_are_still_outdated_after_a_step() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.raise_head();
    let record = writing.record_step(1, begin.turn_id);
    assert!(writing.write(record).await.unwrap().is_recorded());
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 1, 1));
}
