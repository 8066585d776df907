//! The time for which a tail is kept.

use tokio::time::{Duration, Instant};

use crate::fixture::Fixture;

/// A time after which an unused tail must be dropped.
const BEYOND_UNUSED_LIMIT: Duration = Duration::from_secs(100);

#[tokio::test(start_paused = true)]
async fn a_tail_is_dropped_after_a_minute_without_use() {
    let fixture = Fixture::new();
    drop(fixture.tail().await);
    let began = Instant::now();
    while fixture.tails.count() > 0 {
        assert!(began.elapsed() < BEYOND_UNUSED_LIMIT, "the tail is dropped");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(began.elapsed() >= Duration::from_mins(1));
    // The task of the tail has ended too.
    fixture.tasks.close();
    fixture.tasks.wait().await;
}

#[tokio::test(start_paused = true)]
async fn a_tail_is_kept_while_it_is_held_or_requested() {
    let fixture = Fixture::new();
    let held = fixture.tail().await;
    tokio::time::sleep(BEYOND_UNUSED_LIMIT).await;
    assert_eq!(fixture.tails.count(), 1);
    drop(held);
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        drop(fixture.tail().await);
    }
    assert_eq!(fixture.tails.count(), 1);
    tokio::time::sleep(BEYOND_UNUSED_LIMIT).await;
    assert_eq!(fixture.tails.count(), 0);
}

#[tokio::test]
async fn a_tail_ends_with_the_process() {
    let fixture = Fixture::new();
    let _held = fixture.tail().await;
    fixture.stop.cancel();
    fixture.tasks.close();
    fixture.tasks.wait().await;
}
