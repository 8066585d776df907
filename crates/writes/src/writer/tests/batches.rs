//! Tests of batches and of their failures.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_idle_writer_commits_at_once_and_a_busy_one_in_groups() {
    let fixture = Fixture::start(0, []);
    let first = fixture.submit(write(1));
    fixture.called(1).await;
    let others: Vec<_> = (2..=4)
        .map(|number| fixture.submit(write(number)))
        .collect();
    tokio::task::yield_now().await;
    fixture.permits.add_permits(2);
    assert_eq!(first.await.unwrap().unwrap(), done());
    for other in others {
        assert_eq!(other.await.unwrap().unwrap(), done());
    }
    assert_eq!(fixture.sizes(), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn the_writes_of_a_failed_batch_are_committed_one_by_one() {
    let attempts = [
        Attempt::Commits,
        Attempt::Fails(corrupt()),
        Attempt::Commits,
        Attempt::Fails(corrupt()),
    ];
    let fixture = Fixture::start(0, attempts);
    let first = fixture.submit(write(1));
    fixture.called(1).await;
    let (good, bad) = (fixture.submit(write(2)), fixture.submit(write(3)));
    tokio::task::yield_now().await;
    fixture.permits.add_permits(4);
    assert_eq!(first.await.unwrap().unwrap(), done());
    assert_eq!(good.await.unwrap().unwrap(), done());
    assert!(matches!(
        bad.await.unwrap(),
        Err(RepositoryError::Corrupt { .. })
    ));
    assert_eq!(fixture.sizes(), [1, 2, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_store_is_not_called_for_each_write() {
    let fixture = Fixture::start(0, [Attempt::Commits, Attempt::Fails(unavailable("down"))]);
    let first = fixture.submit(write(1));
    fixture.called(1).await;
    let others = [fixture.submit(write(2)), fixture.submit(write(3))];
    tokio::task::yield_now().await;
    fixture.permits.add_permits(2);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        let error = other.await.unwrap().unwrap_err();
        assert_eq!(one_line(&error), "the store is unavailable: down");
    }
    assert_eq!(fixture.sizes(), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_commit_is_retried_with_the_heads_of_the_first_attempt() {
    let attempts = [
        Attempt::Unconfirmed,
        Attempt::Fails(unavailable("still down")),
        Attempt::Unconfirmed,
        Attempt::Commits,
    ];
    let fixture = Fixture::start(4, attempts);
    assert_eq!(fixture.writes.write(write(1)).await.unwrap(), done());
    let calls = fixture.calls.lock().clone();
    let doubts: Vec<_> = calls.into_iter().map(|call| call.in_doubt_since).collect();
    assert_eq!(
        doubts,
        [None, Some(heads(1)), Some(heads(1)), Some(heads(1))]
    );
}

#[tokio::test(start_paused = true)]
async fn single_writes_after_an_unconfirmed_commit_are_still_in_doubt() {
    let attempts = [
        Attempt::Commits,
        Attempt::Unconfirmed,
        Attempt::Fails(corrupt()),
    ];
    let fixture = Fixture::start(0, attempts);
    let first = fixture.submit(write(1));
    fixture.called(1).await;
    let others = [fixture.submit(write(2)), fixture.submit(write(3))];
    tokio::task::yield_now().await;
    fixture.permits.add_permits(5);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().is_ok());
    }
    let call = |writes| Call {
        lane: Lane::Group,
        writes,
        in_doubt_since: Some(heads(2)),
    };
    let calls = fixture.calls.lock();
    assert_eq!(calls[2..], [call(2), call(1), call(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_answered_in_time_while_its_outcome_is_unknown() {
    let attempts = std::iter::repeat_with(|| Attempt::Unconfirmed).take(1_000);
    let fixture = Fixture::start(1_000, attempts);
    let started_at = Instant::now();
    let taken = fixture.submit(write(1));
    fixture.called(1).await;
    let queued = fixture.submit(write(2));
    for write in [taken, queued] {
        assert!(write.await.unwrap().unwrap_err().is_retryable());
        let took = started_at.elapsed();
        assert!(took <= WriteTimeouts::default().max_answer_time, "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_started_turn_is_awaited_until_doubts_end() {
    let attempts = std::iter::repeat_with(|| Attempt::Unconfirmed).take(1_000);
    let fixture = Fixture::start(1_000, attempts);
    let timeouts = WriteTimeouts::default();
    let started_at = Instant::now();
    let error = fixture.writes.write(begin(1)).await.unwrap_err();
    assert!(error.is_retryable());
    let took = started_at.elapsed();
    assert!(took > timeouts.max_answer_time, "{took:?}");
    assert!(took <= timeouts.max_doubt_time, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_queued_for_too_long_is_withdrawn() {
    let fixture = Fixture::start(0, []);
    let running = fixture.submit(write(1));
    fixture.called(1).await;
    let started_at = Instant::now();
    let error = fixture.writes.write(write(2)).await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(
        started_at.elapsed(),
        WriteTimeouts::default().max_queue_time
    );
    fixture.permits.add_permits(9);
    assert!(running.await.unwrap().is_ok());
    assert!(fixture.writes.write(write(3)).await.is_ok());
    assert_eq!(fixture.sizes(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn queued_writes_fail_with_a_store_that_hangs() {
    let fixture = Fixture::start(0, [Attempt::Fails(unavailable("no answer"))]);
    let hang_threshold = fixture.submit(write(1));
    fixture.called(1).await;
    let waiting = fixture.submit(write(2));
    tokio::time::sleep(Duration::from_secs(3)).await;
    fixture.permits.add_permits(9);
    assert!(hang_threshold.await.unwrap().unwrap_err().is_retryable());
    assert!(waiting.await.unwrap().unwrap_err().is_retryable());
    assert_eq!(fixture.sizes(), [1]);
}

#[tokio::test(start_paused = true)]
async fn queued_writes_fail_with_a_store_that_hangs_at_the_first_of_several_writes() {
    let attempts = [
        Attempt::Commits,
        Attempt::Fails(corrupt()),
        Attempt::Fails(unavailable("no answer")),
    ];
    let fixture = Fixture::start(0, attempts);
    let first = fixture.submit(write(1));
    fixture.called(1).await;
    let others = [2, 3].map(|number| fixture.submit(write(number)));
    tokio::task::yield_now().await;
    fixture.permits.add_permits(2);
    fixture.called(3).await;
    let waiting = fixture.submit(write(4));
    tokio::time::sleep(Duration::from_secs(3)).await;
    fixture.permits.add_permits(9);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().unwrap_err().is_retryable());
    }
    assert!(waiting.await.unwrap().unwrap_err().is_retryable());
    assert_eq!(fixture.sizes(), [1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_becomes_unavailable_is_not_called_for_the_other_writes() {
    let attempts = [
        Attempt::Commits,
        Attempt::Fails(corrupt()),
        Attempt::Fails(unavailable("down")),
    ];
    let fixture = Fixture::start(0, attempts);
    let first = fixture.submit(write(1));
    fixture.called(1).await;
    let others = [2, 3, 4].map(|number| fixture.submit(write(number)));
    tokio::task::yield_now().await;
    fixture.permits.add_permits(9);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().unwrap_err().is_retryable());
    }
    assert_eq!(fixture.sizes(), [1, 3, 1]);
}
