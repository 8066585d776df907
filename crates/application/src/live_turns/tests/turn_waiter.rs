use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{NodeId, TurnStatus};
use ports::TurnRepository;
use tokio::{task::JoinSet, time::Instant};
use uuid::Uuid;

use super::{
    super::{
        live_turn::LiveTurn,
        ownership::TurnOwnership,
        turn_waiter::{MAX_OUTAGE, TurnWaiter},
    },
    fixture::{StoredTurn, started, subject},
};

fn wait_for(stored: &Arc<StoredTurn>) -> (Arc<LiveTurn>, TurnWaiter) {
    let live = Arc::new(LiveTurn::new(subject(), Weak::new()));
    let turns: Arc<dyn TurnRepository> = stored.clone();
    let waiter = TurnWaiter::new(Arc::clone(&live), turns);
    (live, waiter)
}

/// Waits for changes for this time.
async fn wait_seconds(seconds: u64, waiter: &mut TurnWaiter) {
    let waiting = async {
        loop {
            waiter.changed().await.expect("the store answers");
        }
    };
    let result = tokio::time::timeout(Duration::from_secs(seconds), waiting).await;
    result.expect_err("the loop never ends by itself");
}

#[tokio::test(start_paused = true)]
async fn a_remote_turn_is_polled_once_a_second_and_on_request() {
    for status in [TurnStatus::Queued, TurnStatus::InProgress] {
        let stored = StoredTurn::new(Some(status));
        let (live, mut waiter) = wait_for(&stored);
        // The first poll changes the live turn, which wakes the polling waiter once more.
        waiter.changed().await.expect("the store answers");
        waiter.changed().await.expect("the store answers");
        assert_eq!(stored.reads(), 1);
        wait_seconds(10, &mut waiter).await;
        assert!((9..=10).contains(&stored.reads()), "{status:?}");
        live.request_poll();
        let before = Instant::now();
        waiter.changed().await.expect("the store answers");
        assert_eq!((stored.reads(), before.elapsed()), (1, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_waiters_of_a_turn_poll_as_often_as_one() {
    let stored = StoredTurn::new(Some(TurnStatus::InProgress));
    let (live, first) = wait_for(&stored);
    let mut waiting = JoinSet::new();
    let turns: Arc<dyn TurnRepository> = stored.clone();
    let others = (1..16).map(|_| TurnWaiter::new(Arc::clone(&live), Arc::clone(&turns)));
    for mut waiter in others.chain([first]) {
        waiting.spawn(async move { wait_seconds(10, &mut waiter).await });
    }
    waiting.join_all().await;
    assert!((9..=11).contains(&stored.reads()));
}

#[tokio::test(start_paused = true)]
async fn a_local_turn_is_not_polled() {
    let stored = StoredTurn::new(Some(TurnStatus::Failed));
    let (live, mut waiter) = wait_for(&stored);
    let ownership = TurnOwnership::new(Arc::clone(&live), NodeId::new(Uuid::from_u128(9)));
    live.mark_started(started());
    wait_seconds(60, &mut waiter).await;
    assert_eq!(stored.reads(), 0);
    // The task of the turn has panicked.
    drop(ownership);
    for _ in 0..2 {
        waiter.changed().await.expect("the store answers");
    }
    assert_eq!(stored.reads(), 1);
    assert!(live.has_ended());
}

#[tokio::test(start_paused = true)]
async fn each_outage_of_the_store_is_tolerated_for_a_while() {
    let stored = StoredTurn::new(None);
    let (_, mut waiter) = wait_for(&stored);
    for _ in 0..2 {
        stored.set(None);
        for _ in 0..5 {
            waiter.changed().await.expect("the outage is tolerated");
        }
        stored.set(Some(TurnStatus::Queued));
        waiter.changed().await.expect("the store answers");
    }
    stored.set(None);
    let began = Instant::now();
    while waiter.changed().await.is_ok() {}
    let outage = began.elapsed();
    assert!(
        (MAX_OUTAGE..MAX_OUTAGE + Duration::from_secs(3)).contains(&outage),
        "{outage:?}"
    );
}
