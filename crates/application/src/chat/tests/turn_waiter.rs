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
        runner::TurnOwnership,
        turn_waiter::{MAX_OUTAGE, TurnWaiter},
    },
    stored_turn::{StoredTurn, started, subject},
};

fn follow(stored: &Arc<StoredTurn>) -> (Arc<LiveTurn>, TurnWaiter) {
    let live = Arc::new(LiveTurn::new(subject(), Weak::new()));
    let turns: Arc<dyn TurnRepository> = stored.clone();
    let followed = TurnWaiter::new(Arc::clone(&live), turns);
    (live, followed)
}

/// Follows for so long.
async fn go_on_for(seconds: u64, followed: &mut TurnWaiter) {
    let going_on = async {
        loop {
            followed.changed().await.expect("the store answers");
        }
    };
    let gone_on = tokio::time::timeout(Duration::from_secs(seconds), going_on).await;
    gone_on.expect_err("it never ends by itself");
}

#[tokio::test(start_paused = true)]
async fn a_remote_turn_is_polled_once_a_second_and_on_request() {
    for status in [TurnStatus::Queued, TurnStatus::InProgress] {
        let stored = StoredTurn::new(Some(status));
        let (live, mut followed) = follow(&stored);
        // The first look is news to whoever looks, too.
        followed.changed().await.expect("the store answers");
        followed.changed().await.expect("the store answers");
        assert_eq!(stored.reads(), 1);
        go_on_for(10, &mut followed).await;
        assert!((9..=10).contains(&stored.reads()), "{status:?}");
        live.request_poll();
        let before = Instant::now();
        followed.changed().await.expect("the store answers");
        assert_eq!((stored.reads(), before.elapsed()), (1, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn sixteen_who_wait_for_the_same_turn_look_as_often_as_one() {
    let stored = StoredTurn::new(Some(TurnStatus::InProgress));
    let (live, first) = follow(&stored);
    let mut waiting = JoinSet::new();
    let turns: Arc<dyn TurnRepository> = stored.clone();
    let others = (1..16).map(|_| TurnWaiter::new(Arc::clone(&live), Arc::clone(&turns)));
    for mut followed in others.chain([first]) {
        waiting.spawn(async move { go_on_for(10, &mut followed).await });
    }
    waiting.join_all().await;
    assert!((9..=11).contains(&stored.reads()));
}

#[tokio::test(start_paused = true)]
async fn a_local_turn_is_not_polled() {
    let stored = StoredTurn::new(Some(TurnStatus::Failed));
    let (live, mut followed) = follow(&stored);
    let ownership = TurnOwnership::new(Arc::clone(&live), NodeId::new(Uuid::from_u128(9)));
    live.started(started());
    go_on_for(60, &mut followed).await;
    assert_eq!(stored.reads(), 0);
    // What runs it has panicked.
    drop(ownership);
    for _ in 0..2 {
        followed.changed().await.expect("the store answers");
    }
    assert_eq!(stored.reads(), 1);
    assert!(live.has_ended());
}

#[tokio::test(start_paused = true)]
async fn an_absent_store_is_waited_for_a_while_each_time_anew() {
    let stored = StoredTurn::new(None);
    let (_, mut followed) = follow(&stored);
    for _ in 0..2 {
        stored.set(None);
        for _ in 0..5 {
            followed.changed().await.expect("it is waited for");
        }
        stored.set(Some(TurnStatus::Queued));
        followed.changed().await.expect("it is back");
    }
    stored.set(None);
    let began = Instant::now();
    while followed.changed().await.is_ok() {}
    let waited = began.elapsed();
    assert!(
        (MAX_OUTAGE..MAX_OUTAGE + Duration::from_secs(3)).contains(&waited),
        "{waited:?}"
    );
}
