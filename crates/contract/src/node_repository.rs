//! `NodeRepository`.

use std::time::Duration;

use ports::Storage;

use crate::{
    answers::{Answer as _, assert_conflict},
    given, samples,
};

const LEASE: Duration = Duration::from_secs(10);

/// `insert` MUST answer `Conflict` when the id exists.
pub async fn refuses_a_duplicate_node_id(storage: &Storage) {
    let id = given::node(storage, 1).await;
    assert_conflict(&storage.nodes.insert(id, LEASE).await);
    assert!(storage.nodes.renew(id, LEASE).await.answered());
}

/// `renew` renews a lease that runs.
pub async fn renews_a_lease(storage: &Storage) {
    let id = given::node(storage, 1).await;
    for _ in 0..3 {
        assert!(storage.nodes.renew(id, LEASE).await.answered());
    }
}

/// `renew` renews a lease that has run out, too: only a mark ends a node.
pub async fn renews_a_lease_that_has_run_out(storage: &Storage) {
    let id = samples::node_id(1);
    storage.nodes.insert(id, Duration::ZERO).await.answered();
    assert!(storage.nodes.renew(id, Duration::ZERO).await.answered());
    assert!(storage.nodes.renew(id, LEASE).await.answered());
}

/// A lease that has run out is no mark: the node may begin turns.
pub async fn a_node_whose_lease_ran_out_may_begin_turns(storage: &Storage) {
    let id = samples::node_id(1);
    storage.nodes.insert(id, Duration::ZERO).await.answered();
    let agent = given::agent(storage, 1).await;
    let talk = given::conversation(storage, 1, &agent).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
}

/// A node that was never there, or has left, holds no lease.
pub async fn renews_nothing_for_an_unknown_node(storage: &Storage) {
    let left = given::node(storage, 1).await;
    storage.nodes.delete(left).await.answered();
    for id in [left, samples::node_id(404)] {
        assert!(!storage.nodes.renew(id, LEASE).await.answered());
    }
}

/// `delete` may be repeated.
pub async fn forgets_a_node_once_or_twice(storage: &Storage) {
    let id = given::node(storage, 1).await;
    let other = given::node(storage, 2).await;
    for _ in 0..2 {
        storage.nodes.delete(id).await.answered();
    }
    assert!(storage.nodes.renew(other, LEASE).await.answered());
}
