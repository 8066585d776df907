//! `NodeRepository`.

use std::time::Duration;

use ports::Storage;

use crate::{
    fixture,
    results::{ResultExt as _, assert_conflict},
    setup,
};

const LEASE: Duration = Duration::from_secs(10);

/// `insert` MUST return `Conflict` if the id exists.
pub async fn a_duplicate_node_id_is_a_conflict(storage: &Storage) {
    let id = setup::node(storage, 1).await;
    assert_conflict(&storage.nodes.insert(id, LEASE).await);
    assert!(storage.nodes.renew(id, LEASE).await.success());
}

/// `renew` renews a valid lease.
pub async fn a_valid_lease_can_be_renewed(storage: &Storage) {
    let id = setup::node(storage, 1).await;
    for _ in 0..3 {
        assert!(storage.nodes.renew(id, LEASE).await.success());
    }
}

/// `renew` also renews an expired lease: only a mark ends a node.
pub async fn an_expired_lease_can_be_renewed(storage: &Storage) {
    let id = fixture::node_id(1);
    storage.nodes.insert(id, Duration::ZERO).await.success();
    assert!(storage.nodes.renew(id, Duration::ZERO).await.success());
    assert!(storage.nodes.renew(id, LEASE).await.success());
}

/// An expired lease is not a mark: the node may begin turns.
pub async fn a_node_with_an_expired_lease_may_begin_turns(storage: &Storage) {
    let id = fixture::node_id(1);
    storage.nodes.insert(id, Duration::ZERO).await.success();
    let agent = setup::agent(storage, 1).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
}

/// A node that was never registered or was deleted has no lease.
pub async fn an_unknown_node_has_no_lease(storage: &Storage) {
    let left = setup::node(storage, 1).await;
    storage.nodes.delete(left).await.success();
    for id in [left, fixture::node_id(404)] {
        assert!(!storage.nodes.renew(id, LEASE).await.success());
    }
}

/// `delete` can be repeated.
pub async fn deleting_a_node_can_be_repeated(storage: &Storage) {
    let id = setup::node(storage, 1).await;
    let other = setup::node(storage, 2).await;
    for _ in 0..2 {
        storage.nodes.delete(id).await.success();
    }
    assert!(storage.nodes.renew(other, LEASE).await.success());
}
