//! `NodeRepository`.

use std::time::Duration;

use domain::NodeId;
use ports::{FarNodeReport, LiveNode, LiveNodes, NodeProcess};

use crate::{
    Store, fixture,
    results::{ResultExt as _, assert_conflict},
    setup,
};

const LEASE: Duration = Duration::from_secs(10);

/// `insert` MUST return `Conflict` if the id exists.
pub async fn a_duplicate_node_id_is_a_conflict(storage: &Store) {
    let id = setup::node(storage, 1).await;
    assert_conflict(&storage.nodes.insert(id, &fixture::process(), LEASE).await);
    assert!(storage.nodes.renew(id, LEASE).await.success().is_some());
}

/// `renew` renews a valid lease.
pub async fn a_valid_lease_can_be_renewed(storage: &Store) {
    let id = setup::node(storage, 1).await;
    for _ in 0..3 {
        assert!(storage.nodes.renew(id, LEASE).await.success().is_some());
    }
}

/// `renew` also renews an expired lease: only a mark ends a node.
pub async fn an_expired_lease_can_be_renewed(storage: &Store) {
    let id = fixture::node_id(1);
    storage
        .nodes
        .insert(id, &fixture::process(), Duration::ZERO)
        .await
        .success();
    assert!(
        storage
            .nodes
            .renew(id, Duration::ZERO)
            .await
            .success()
            .is_some()
    );
    assert!(storage.nodes.renew(id, LEASE).await.success().is_some());
}

/// An expired lease is not a mark: the node may begin turns.
pub async fn a_node_with_an_expired_lease_may_begin_turns(storage: &Store) {
    let id = fixture::node_id(1);
    storage
        .nodes
        .insert(id, &fixture::process(), Duration::ZERO)
        .await
        .success();
    let agent = setup::agent(storage, 1).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
}

/// A node that was never registered or was deleted has no lease.
pub async fn an_unknown_node_has_no_lease(storage: &Store) {
    let left = setup::node(storage, 1).await;
    storage.nodes.delete(left).await.success();
    for id in [left, fixture::node_id(404)] {
        assert_eq!(storage.nodes.renew(id, LEASE).await.success(), None);
    }
}

/// `delete` can be repeated.
pub async fn deleting_a_node_can_be_repeated(storage: &Store) {
    let id = setup::node(storage, 1).await;
    let other = setup::node(storage, 2).await;
    for _ in 0..2 {
        storage.nodes.delete(id).await.success();
    }
    assert!(storage.nodes.renew(other, LEASE).await.success().is_some());
}

async fn renewed(storage: &Store, id: NodeId) -> LiveNodes {
    let renewed = storage.nodes.renew(id, LEASE).await.success();
    renewed.expect("the node is alive")
}

/// `insert` and `renew` return the number of nodes that are not marked as dead.
pub async fn live_nodes_are_counted(storage: &Store) {
    let process = fixture::process();
    let (one, other, late) = (
        fixture::node_id(1),
        fixture::node_id(2),
        fixture::node_id(3),
    );
    let insert = |id, lease| storage.nodes.insert(id, &process, lease);
    assert_eq!(insert(one, LEASE).await.success().count, 1);
    assert_eq!(insert(other, LEASE).await.success().count, 2);
    // An expired lease is not a mark.
    assert_eq!(insert(late, Duration::ZERO).await.success().count, 3);
    assert_eq!(renewed(storage, one).await.count, 3);
    storage.nodes.delete(late).await.success();
    assert_eq!(renewed(storage, one).await.count, 2);
    storage.nodes.delete(one).await.success();
    assert_eq!(renewed(storage, other).await.count, 1);
}

/// `insert` and `renew` return the lowest level of these nodes and of those of far regions. One that
/// reports no level has level 0.
pub async fn the_lowest_level_of_all_nodes_is_known(storage: &Store) {
    let process = |level| NodeProcess {
        level,
        ..fixture::process()
    };
    let (high, low) = (fixture::node_id(1), fixture::node_id(2));
    let inserted = storage.nodes.insert(high, &process(7), LEASE).await;
    assert_eq!(inserted.success().lowest_level, 7);
    let inserted = storage.nodes.insert(low, &process(5), LEASE).await;
    assert_eq!(inserted.success().lowest_level, 5);
    assert_eq!(renewed(storage, high).await.lowest_level, 5);
    let levels = |nodes: Vec<LiveNode>| nodes.iter().map(|node| node.level).collect::<Vec<_>>();
    assert_eq!(
        levels(storage.nodes.list().await.success()),
        [Some(7), Some(5)]
    );

    let (region, far) = (fixture::region(), fixture::node_id(3));
    for (level, lease, lowest) in [
        (Some(6), LEASE, 5),
        (Some(4), LEASE, 4),
        (None, LEASE, 0),
        (Some(3), Duration::ZERO, 5),
    ] {
        let report = FarNodeReport {
            id: far,
            version: "1.2.4".to_owned(),
            running_for: Duration::ZERO,
            connected_for: None,
            level,
        };
        storage
            .nodes
            .report_far(&region, &report, lease)
            .await
            .success();
        assert_eq!(renewed(storage, high).await.lowest_level, lowest);
    }
    storage.nodes.delete(low).await.success();
    assert_eq!(renewed(storage, high).await.lowest_level, 7);
}

/// `list` returns the nodes with a valid lease, by id, with what they have reported.
pub async fn live_nodes_are_listed(storage: &Store) {
    let process = fixture::process();
    let now = storage.maintenance.now().await.success();
    for (number, lease) in [(2, LEASE), (1, LEASE), (3, Duration::ZERO)] {
        let id = fixture::node_id(number);
        storage.nodes.insert(id, &process, lease).await.success();
    }
    let listed = storage.nodes.list().await.success();
    let ids: Vec<_> = listed.iter().map(|node| node.id).collect();
    assert_eq!(ids, [fixture::node_id(1), fixture::node_id(2)]);
    for node in listed {
        assert_eq!(node.version.as_deref(), Some("1.2.3"));
        let started = node.started_at.expect("it was reported").milliseconds();
        let since = now.milliseconds() - started;
        assert!((0..=61_000).contains(&since), "{since}");
        assert!(node.lease_left <= LEASE && node.lease_left > Duration::ZERO);
        assert!(node.lease_until > now);
        assert_eq!(node.running_turns, 0);
    }
}

/// `list` counts the turns that are in progress at each node.
pub async fn running_turns_are_listed(storage: &Store) {
    setup::node(storage, 1).await;
    let agent = setup::agent(storage, 1).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let listed = storage.nodes.list().await.success();
    let running: Vec<_> = listed.iter().map(|node| node.running_turns).collect();
    assert_eq!(running, [1]);
}

/// `report_far` MUST replace an earlier report, and its node MUST NOT be counted. `list` returns it
/// until its lease ends.
pub async fn nodes_of_far_regions_are_listed_and_not_counted(storage: &Store) {
    let (region, own) = (fixture::region(), setup::node(storage, 1).await);
    let now = storage.maintenance.now().await.success();
    let report = |number, connected_for| FarNodeReport {
        id: fixture::node_id(number),
        version: "1.2.4".to_owned(),
        running_for: Duration::from_mins(1),
        connected_for,
        level: None,
    };
    let second = Some(Duration::from_secs(1));
    for (report, lease) in [
        (report(2, second), LEASE),
        (report(3, second), Duration::ZERO),
        (report(2, None), LEASE),
    ] {
        let reported = storage.nodes.report_far(&region, &report, lease);
        reported.await.success();
    }
    let listed = storage.nodes.list().await.success();
    let ids: Vec<_> = listed.iter().map(|node| node.id).collect();
    assert_eq!(ids, [own, fixture::node_id(2)]);
    assert_eq!(listed[0].far_region, None);
    let far = listed[1].far_region.as_ref().expect("a far region");
    assert_eq!((&far.name, far.connected_at), (&region, None));
    assert_eq!(listed[1].version.as_deref(), Some("1.2.4"));
    let started = listed[1].started_at.expect("it was reported");
    assert!(started < now && listed[1].lease_until > now);

    let again = report(2, second);
    let reported = storage.nodes.report_far(&region, &again, LEASE);
    reported.await.success();
    let listed = storage.nodes.list().await.success();
    let far = listed[1].far_region.as_ref().expect("a far region");
    let connected_at = far.connected_at.expect("a stream").milliseconds();
    assert!((0..=1_000).contains(&(now.milliseconds() - connected_at)));
    assert_eq!(renewed(storage, own).await.count, 1);
}
