//! Tests of the end of the writer.

use super::{alone::sweep, *};

#[tokio::test(start_paused = true)]
async fn a_closed_writer_completes_the_queued_writes_and_ends() {
    let fixture = Fixture::start(0, []);
    let running = fixture.submit(write(1));
    fixture.called(1).await;
    let queued = fixture.submit(write(2));
    tokio::task::yield_now().await;
    assert!(fixture.writes.check().is_ok());
    let mut closing = Box::pin(fixture.writes.close());
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
    assert!(fixture.writes.check().unwrap_err().is_retryable());
    assert!(
        fixture
            .writes
            .write(write(3))
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
            .writes
            .write(write(1))
            .await
            .unwrap_err()
            .is_retryable()
    );
    fixture.writes.close().await;
    assert!(fixture.writes.check().unwrap_err().is_retryable());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_writer_that_panicked() {
    let fixture = Fixture::start(0, [Attempt::Panics]);
    let started_at = Instant::now();
    let taken = fixture.submit(begin(1));
    fixture.called(1).await;
    let queued = fixture.submit(begin(2));
    tokio::task::yield_now().await;
    fixture.permits.add_permits(1);
    for write in [taken, queued] {
        assert!(write.await.unwrap().unwrap_err().is_retryable());
    }
    assert_eq!(started_at.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_closed_writer_rejects_commands_that_need_no_queue() {
    let fixture = Fixture::start(0, []);
    fixture.writes.close().await;
    let error = fixture.writes.write(sweep()).await.unwrap_err();
    assert!(error.is_retryable());
    assert!(fixture.calls.lock().is_empty());
}
