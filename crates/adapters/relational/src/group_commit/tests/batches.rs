//! Tests of batches, of their failures, and of the end of the writer.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_idle_writer_commits_at_once_and_a_busy_one_in_groups() {
    let fixture = Fixture::start(0, []);
    let first = fixture.submit(op(1));
    fixture.called(1).await;
    let others: Vec<_> = (2..=4).map(|number| fixture.submit(op(number))).collect();
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
    let first = fixture.submit(op(1));
    fixture.called(1).await;
    let (good, bad) = (fixture.submit(op(2)), fixture.submit(op(3)));
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
    let first = fixture.submit(op(1));
    fixture.called(1).await;
    let others = [fixture.submit(op(2)), fixture.submit(op(3))];
    tokio::task::yield_now().await;
    fixture.permits.add_permits(2);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        let error = other.await.unwrap().unwrap_err();
        assert_eq!(
            ports::error::one_line(&error),
            "the store is unavailable: down"
        );
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
    assert_eq!(fixture.group.submit(op(1)).await.unwrap(), done());
    let doubts: Vec<_> = fixture
        .calls
        .lock()
        .unwrap()
        .iter()
        .map(|(_, in_doubt_since)| in_doubt_since.clone())
        .collect();
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
    let first = fixture.submit(op(1));
    fixture.called(1).await;
    let others = [fixture.submit(op(2)), fixture.submit(op(3))];
    tokio::task::yield_now().await;
    fixture.permits.add_permits(5);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().is_ok());
    }
    let calls = fixture.calls.lock().unwrap().clone();
    assert_eq!(calls[2], (2, Some(heads(2))));
    assert_eq!(calls[3..], [(1, Some(heads(2))), (1, Some(heads(2)))]);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_answered_in_time_while_its_outcome_is_unknown() {
    let attempts = std::iter::repeat_with(|| Attempt::Unconfirmed).take(1_000);
    let fixture = Fixture::start(1_000, attempts);
    let started_at = Instant::now();
    let write = fixture.submit(op(1));
    fixture.called(1).await;
    let queued = fixture.submit(op(2));
    for write in [write, queued] {
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
    let error = fixture.group.submit(begin(1)).await.unwrap_err();
    assert!(error.is_retryable());
    let took = started_at.elapsed();
    assert!(took > timeouts.max_answer_time, "{took:?}");
    assert!(took <= timeouts.max_doubt_time, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_queued_for_too_long_is_withdrawn() {
    let fixture = Fixture::start(0, []);
    let running = fixture.submit(op(1));
    fixture.called(1).await;
    let started_at = Instant::now();
    let error = fixture.group.submit(op(2)).await.unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(
        started_at.elapsed(),
        WriteTimeouts::default().max_queue_time
    );
    fixture.permits.add_permits(9);
    assert!(running.await.unwrap().is_ok());
    assert!(fixture.group.submit(op(3)).await.is_ok());
    assert_eq!(fixture.sizes(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn queued_writes_fail_with_a_store_that_hangs() {
    let fixture = Fixture::start(0, [Attempt::Fails(unavailable("no answer"))]);
    let hang_threshold = fixture.submit(op(1));
    fixture.called(1).await;
    let waiting = fixture.submit(op(2));
    tokio::time::sleep(Duration::from_secs(3)).await;
    fixture.permits.add_permits(9);
    assert!(hang_threshold.await.unwrap().unwrap_err().is_retryable());
    assert!(waiting.await.unwrap().unwrap_err().is_retryable());
    assert_eq!(fixture.sizes(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_becomes_unavailable_is_not_called_for_the_other_writes() {
    let attempts = [
        Attempt::Commits,
        Attempt::Fails(corrupt()),
        Attempt::Fails(unavailable("down")),
    ];
    let fixture = Fixture::start(0, attempts);
    let first = fixture.submit(op(1));
    fixture.called(1).await;
    let others = [2, 3, 4].map(|number| fixture.submit(op(number)));
    tokio::task::yield_now().await;
    fixture.permits.add_permits(9);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().unwrap_err().is_retryable());
    }
    assert_eq!(fixture.sizes(), [1, 3, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_writer_completes_the_queued_writes_and_ends() {
    let fixture = Fixture::start(0, []);
    let running = fixture.submit(op(1));
    fixture.called(1).await;
    let queued = fixture.submit(op(2));
    tokio::task::yield_now().await;
    assert!(fixture.group.check().is_ok());
    let mut closing = Box::pin(fixture.group.close());
    tokio::select! {
        biased;
        () = &mut closing => panic!("a write is still in progress"),
        () = std::future::ready(()) => {}
    }
    fixture.permits.add_permits(2);
    closing.await;
    assert_eq!(fixture.sizes(), [1, 1]);
    assert!(running.await.unwrap().is_ok());
    assert!(queued.await.unwrap().is_ok());
    assert!(fixture.group.check().unwrap_err().is_retryable());
    assert!(
        fixture
            .group
            .submit(op(3))
            .await
            .unwrap_err()
            .is_retryable()
    );
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_panicked_makes_the_store_unavailable() {
    let fixture = Fixture::start(1, [Attempt::Panics]);
    assert!(
        fixture
            .group
            .submit(op(1))
            .await
            .unwrap_err()
            .is_retryable()
    );
    fixture.group.close().await;
    assert!(fixture.group.check().unwrap_err().is_retryable());
}
