//! `FollowerRepository`: leases and positions.

use std::time::Duration;

use domain::{NodeId, Seq};
use futures::future::join_all;
use ports::{FollowerPosition, FollowerStep};

use crate::{Store, fixture, results::ResultExt as _, setup};

const FOLLOWER: &str = "a follower";

fn at(seq: i64) -> FollowerPosition {
    FollowerPosition {
        seq: Seq(seq),
        backfilled_to: None,
    }
}

fn step(from: Option<FollowerPosition>, to: FollowerPosition) -> FollowerStep {
    let tenant = fixture::tenant();
    FollowerStep { tenant, from, to }
}

async fn claim(storage: &Store, follower: &str, node: NodeId) -> bool {
    storage.followers.claim(follower, node).await.success()
}

async fn advance(storage: &Store, from: Option<FollowerPosition>, to: FollowerPosition) -> bool {
    let advanced = storage.followers.advance(FOLLOWER, &step(from, to)).await;
    advanced.success()
}

/// One node runs a follower, until its lease ends. Another follower has another lease.
pub async fn a_follower_is_run_by_one_node_with_a_lease(storage: &Store) {
    let (first, second) = (setup::node(storage, 1).await, setup::node(storage, 2).await);
    assert!(claim(storage, FOLLOWER, first).await);
    assert!(!claim(storage, FOLLOWER, second).await);
    assert!(claim(storage, FOLLOWER, first).await);
    assert!(claim(storage, "another", second).await);
    storage.nodes.renew(first, Duration::ZERO).await.success();
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(claim(storage, FOLLOWER, second).await);
    storage
        .nodes
        .renew(first, Duration::from_mins(1))
        .await
        .success();
    assert!(!claim(storage, FOLLOWER, first).await);
    storage.nodes.delete(second).await.success();
    assert!(claim(storage, FOLLOWER, first).await);
}

/// A position begins once, and moves only from the one that the caller knows.
pub async fn a_position_moves_only_from_the_one_before(storage: &Store) {
    let backfilled = |number| FollowerPosition {
        backfilled_to: Some(fixture::conversation_id(number)),
        ..at(3)
    };
    assert!(!advance(storage, Some(at(3)), at(4)).await);
    assert!(advance(storage, None, backfilled(1)).await);
    assert!(!advance(storage, None, at(7)).await);
    for stale in [at(3), backfilled(2), at(2)] {
        assert!(!advance(storage, Some(stale), at(9)).await);
    }
    assert!(advance(storage, Some(backfilled(1)), backfilled(2)).await);
    assert!(advance(storage, Some(backfilled(2)), at(3)).await);
    assert!(advance(storage, Some(at(3)), at(3)).await);
    assert!(!advance(storage, Some(backfilled(2)), at(5)).await);
    let expected = vec![(fixture::tenant(), at(3))];
    let positions = storage.followers.positions(FOLLOWER).await.success();
    assert_eq!(positions, expected);
    assert!(
        storage
            .followers
            .positions("another")
            .await
            .success()
            .is_empty()
    );
}

/// Of many nodes that move a position at once, one does.
pub async fn one_of_many_steps_from_a_position_is_taken(storage: &Store) {
    assert!(advance(storage, None, at(0)).await);
    for seq in 0..5 {
        let steps = (0..8).map(|_| advance(storage, Some(at(seq)), at(seq + 1)));
        let taken = join_all(steps).await.into_iter().filter(|taken| *taken);
        assert_eq!(taken.count(), 1);
    }
}
