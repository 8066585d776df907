//! `SweepRepository`: marking dead nodes, finding tenants to sweep, and failing queued turns.

use std::collections::HashSet;

use domain::{NodeId, TurnStatus};
use ports::TurnAddress;
use writes::{BeginOutcome, BeginTurn, ConversationTarget, TurnEnding};

use super::sweep_candidates::started_of;
use crate::{
    Store,
    dead_nodes::{
        LONG, TurnQueue, dying_node, mark_dead_nodes, run_sweep, sweep, sweeper, two_nodes,
    },
    fixture, log, lookup,
    results::{ResultExt as _, assert_conflict, event_count},
    setup,
};

async fn renewed(storage: &Store, id: NodeId) -> bool {
    storage.nodes.renew(id, LONG).await.success().is_some()
}

/// Processes with an expired lease are marked, once, and have no lease any more; the caller never
/// is. In a store of one process, all other processes are dead, whatever their leases.
pub async fn dead_nodes_are_marked(storage: &Store) {
    let is_single_process = storage.sweep.is_single_process();
    storage
        .nodes
        .insert(sweeper(), &fixture::process(), LONG)
        .await
        .success();
    for number in [1, 2] {
        dying_node(storage, number).await;
    }
    let alive = setup::node(storage, 3).await;
    let renewed_late = fixture::node_id(2);
    assert!(renewed(storage, renewed_late).await);
    let dead = if is_single_process { 3 } else { 1 };
    assert_eq!(mark_dead_nodes(storage).await, dead);
    assert_eq!(mark_dead_nodes(storage).await, 0);
    assert!(!renewed(storage, fixture::node_id(1)).await);
    assert_eq!(renewed(storage, renewed_late).await, !is_single_process);
    assert_eq!(renewed(storage, alive).await, !is_single_process);
    assert!(renewed(storage, sweeper()).await);
}

/// A process whose own lease has expired, or that was marked, marks no other: the outage may have
/// affected all processes. A store of one process has no others.
pub async fn a_node_without_a_lease_marks_no_others(storage: &Store) {
    let is_single_process = storage.sweep.is_single_process();
    for number in [1, 2] {
        dying_node(storage, number).await;
    }
    for own in [fixture::node_id(1), fixture::node_id(404)] {
        let marked = storage.sweep.mark_dead_nodes(own).await.success();
        assert_eq!(marked > 0, is_single_process, "{own}");
    }
}

async fn is_registered(storage: &Store, number: u32) -> bool {
    let result = storage
        .nodes
        .insert(fixture::node_id(number), &fixture::process(), LONG)
        .await;
    if result.is_err() {
        assert_conflict(&result);
    }
    result.is_err()
}

/// Marked processes are removed by a later call, once no turn of theirs is in progress.
pub async fn dead_nodes_without_turns_are_removed(storage: &Store) {
    let agent = two_nodes(storage).await;
    for number in [2, 3] {
        dying_node(storage, number).await;
    }
    TurnQueue::begin(storage, &agent, 1, 0).await;
    mark_dead_nodes(storage).await;
    assert!(is_registered(storage, 2).await);
    mark_dead_nodes(storage).await;
    assert!(!is_registered(storage, 3).await);
    assert!(is_registered(storage, 1).await, "a turn of it still runs");
    run_sweep(storage, &sweep()).await;
    mark_dead_nodes(storage).await;
    assert!(!is_registered(storage, 1).await);
}

/// A marked process begins no turn, and writes nothing.
pub async fn a_marked_node_cannot_begin_turns(storage: &Store) {
    let agent = two_nodes(storage).await;
    mark_dead_nodes(storage).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    let begin = fixture::begin_turn(1, &agent, target);
    let result = storage.turns.begin_turn(begin.clone()).await.success();
    assert_eq!(result, BeginOutcome::NodeDead);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..begin
    };
    setup::start_turn(storage, &elsewhere).await;
}

/// A marked process may end its turn until another process has, but no turn is promoted to it,
/// neither by that nor by a cancellation.
pub async fn no_turn_is_promoted_to_a_marked_node(storage: &Store) {
    let agent = two_nodes(storage).await;
    let ends = TurnQueue::begin(storage, &agent, 1, 1).await;
    let is_cancelled = TurnQueue::begin(storage, &agent, 2, 1).await;
    mark_dead_nodes(storage).await;
    let ending = TurnEnding::Completed(fixture::reply(1));
    let finish = fixture::finish(&ends.running, ending);
    let (committed, promoted) = setup::finish_turn(storage, finish).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let running = &is_cancelled.running;
    let (committed, promoted) = setup::cancel_turn(storage, running, Some(running.node)).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    for queue in [ends, is_cancelled] {
        let turn = lookup::turn(storage, queue.waiting[0].turn_id).await;
        assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
    }
}

/// The turns in progress under a node, of all tenants: none that is queued, has ended or runs on
/// another node.
pub async fn turns_in_progress_are_listed_by_node(storage: &Store) {
    let agent = two_nodes(storage).await;
    let runs = TurnQueue::begin(storage, &agent, 1, 1).await;
    let ended = TurnQueue::begin(storage, &agent, 2, 0).await;
    setup::cancel_turn(storage, &ended.running, None).await;
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..fixture::begin_turn(7, &agent, fixture::existing(&ended.conversation, 1))
    };
    setup::start_turn(storage, &elsewhere).await;
    let other = setup::second_tenant(storage).await;
    let theirs = started_of(storage, &other).await;
    let result = storage.sweep.in_progress_under(fixture::node_id(1));
    let turns = HashSet::from_iter(result.await.success());
    assert_eq!(turns, addresses([&theirs, &runs.running]));
    let of_nobody = storage.sweep.in_progress_under(fixture::node_id(404));
    assert_eq!(of_nobody.await.success(), []);
}

/// The queued turns of all tenants: none that is running or has ended.
pub async fn queued_turns_are_listed(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 3).await;
    setup::cancel_turn(storage, &queue.waiting[1], None).await;
    let other = setup::second_tenant(storage).await;
    let runs = started_of(storage, &other).await;
    let theirs = BeginTurn {
        turn_id: fixture::turn_id(2),
        message_id: fixture::message_id(22),
        target: ConversationTarget::Existing {
            id: runs.target.id(),
            turn_count: 1,
        },
        ..runs
    };
    setup::queue_turn(storage, &theirs).await;
    let turns = HashSet::from_iter(storage.sweep.queued().await.success());
    let expected = addresses([&queue.waiting[0], &queue.waiting[2], &theirs]);
    assert_eq!(turns, expected);
}

fn addresses<const N: usize>(begins: [&BeginTurn; N]) -> HashSet<TurnAddress> {
    let addresses = begins.map(|begin| TurnAddress {
        tenant: begin.tenant.clone(),
        conversation_id: begin.target.id(),
        turn_id: begin.turn_id,
    });
    addresses.into()
}
