//! `TurnRecovery`: marking dead nodes, finding tenants to sweep, and failing queued turns.

use std::{collections::HashSet, time::Duration};

use domain::{EventType, NodeId, TenantId, TurnStatus};
use ports::{BeginOutcome, BeginTurn, ConversationTarget, Storage, TurnAddress, TurnEnding};

use crate::{
    dead_nodes::{
        LONG, TurnQueue, dying_node, mark_dead_nodes, run_sweep, sweep, sweeper, two_nodes,
    },
    fixture, log, lookup,
    results::{ResultExt as _, assert_conflict, event_count},
    setup,
};

async fn renewed(storage: &Storage, id: NodeId) -> bool {
    storage.nodes.renew(id, LONG).await.success()
}

/// Processes with an expired lease are marked, once, and have no lease any more; the caller never
/// is. In a store of one process, all other processes are dead, whatever their leases.
pub async fn dead_nodes_are_marked(storage: &Storage) {
    let is_of_one_process = storage.recovery.is_of_one_process();
    storage.nodes.insert(sweeper(), LONG).await.success();
    for number in [1, 2] {
        dying_node(storage, number).await;
    }
    let alive = setup::node(storage, 3).await;
    let renewed_late = fixture::node_id(2);
    assert!(renewed(storage, renewed_late).await);
    let dead = if is_of_one_process { 3 } else { 1 };
    assert_eq!(mark_dead_nodes(storage).await, dead);
    assert_eq!(mark_dead_nodes(storage).await, 0);
    assert!(!renewed(storage, fixture::node_id(1)).await);
    assert_eq!(renewed(storage, renewed_late).await, !is_of_one_process);
    assert_eq!(renewed(storage, alive).await, !is_of_one_process);
    assert!(renewed(storage, sweeper()).await);
}

/// A process whose own lease has expired, or that was marked, marks no other: the outage may have
/// affected all processes. A store of one process has no others.
pub async fn a_node_without_a_lease_marks_no_others(storage: &Storage) {
    let is_of_one_process = storage.recovery.is_of_one_process();
    for number in [1, 2] {
        dying_node(storage, number).await;
    }
    for own in [fixture::node_id(1), fixture::node_id(404)] {
        let marked = storage.recovery.mark_dead_nodes(own).await.success();
        assert_eq!(marked > 0, is_of_one_process, "{own}");
    }
}

async fn is_registered(storage: &Storage, number: u32) -> bool {
    let result = storage.nodes.insert(fixture::node_id(number), LONG).await;
    if result.is_err() {
        assert_conflict(&result);
    }
    result.is_err()
}

/// Marked processes are removed by a later call, once no turn of theirs is in progress.
pub async fn dead_nodes_without_turns_are_removed(storage: &Storage) {
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
pub async fn a_marked_node_cannot_begin_turns(storage: &Storage) {
    let agent = two_nodes(storage).await;
    mark_dead_nodes(storage).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    let begin = fixture::begin_turn(1, &agent, target);
    let result = storage.turns.begin_turn(begin.clone()).await.success();
    assert_eq!(result, BeginOutcome::NodeRefused);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..begin
    };
    setup::start_turn(storage, &elsewhere).await;
}

/// A marked process may end its turn until another process has, but no turn is promoted to it,
/// neither by that nor by a cancellation.
pub async fn no_turn_is_promoted_to_a_marked_node(storage: &Storage) {
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
pub async fn turns_in_progress_are_listed_by_node(storage: &Storage) {
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
    let result = storage.recovery.in_progress_under(fixture::node_id(1));
    let turns = HashSet::from_iter(result.await.success());
    assert_eq!(turns, addresses([&theirs, &runs.running]));
    let of_nobody = storage.recovery.in_progress_under(fixture::node_id(404));
    assert_eq!(of_nobody.await.success(), []);
}

/// The queued turns of all tenants: none that is running or has ended.
pub async fn queued_turns_are_listed(storage: &Storage) {
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
    let turns = HashSet::from_iter(storage.recovery.waiting().await.success());
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

/// Starts a turn of another tenant on process 1.
async fn started_of(storage: &Storage, tenant: &TenantId) -> BeginTurn {
    let agent = setup::insert_agent_in(storage, tenant, fixture::agent(1)).await;
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    let begin = BeginTurn {
        tenant: tenant.clone(),
        ..fixture::begin_turn(1, &agent, target)
    };
    setup::start_turn(storage, &begin).await;
    begin
}

async fn to_sweep(storage: &Storage, longest_wait: Duration) -> Vec<TenantId> {
    let result = storage.recovery.tenants_to_sweep(longest_wait).await;
    let mut tenants = result.success();
    tenants.sort();
    tenants
}

/// A healthy tenant needs no sweep, neither with a running turn nor with turns queued behind it.
pub async fn a_healthy_tenant_needs_no_sweep(storage: &Storage) {
    let agent = two_nodes(storage).await;
    setup::second_tenant(storage).await;
    TurnQueue::begin(storage, &agent, 1, 2).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
}

/// The tenants with turns of dead or unknown processes, each once.
pub async fn tenants_with_turns_of_dead_nodes_need_a_sweep(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let (old, new) = (
        setup::tenant_named(storage, "old").await,
        setup::tenant_named(storage, "young").await,
    );
    for number in 1..=3 {
        TurnQueue::begin(storage, &agent, number, 0).await;
    }
    started_of(storage, &old).await;
    let marks = mark_dead_nodes(storage).await;
    assert_eq!(
        (marks, to_sweep(storage, LONG).await),
        (1, vec![fixture::tenant(), old])
    );
    dying_node(storage, 2).await;
    let agent = setup::insert_agent_in(storage, &new, fixture::agent(1)).await;
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    let unknown = BeginTurn {
        tenant: new.clone(),
        node: fixture::node_id(2),
        ..fixture::begin_turn(1, &agent, target)
    };
    setup::start_turn(storage, &unknown).await;
    assert!(!to_sweep(storage, LONG).await.contains(&new));
    storage.nodes.delete(unknown.node).await.success();
    assert!(to_sweep(storage, LONG).await.contains(&new));
}

/// The tenants with a queued turn that waits behind no running one, or has waited for too long.
pub async fn tenants_with_stuck_queued_turns_need_a_sweep(storage: &Storage) {
    let agent = two_nodes(storage).await;
    setup::second_tenant(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 1).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
    assert_eq!(to_sweep(storage, Duration::ZERO).await, [fixture::tenant()]);
    setup::cancel_turn(storage, &queue.running, None).await;
    assert_eq!(to_sweep(storage, LONG).await, [fixture::tenant()]);
    run_sweep(storage, &sweep()).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
    // A running turn does not wait, however long it was queued.
    assert_eq!(to_sweep(storage, Duration::ZERO).await, []);
}

/// A queued turn is failed with `turn.failed`; the running turn continues, and the next queued turn
/// takes the place in the queue.
pub async fn a_queued_turn_can_be_failed(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 2).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(800));
    let (failed, problem) = (&queue.waiting[0], fixture::retryable_problem());
    let result = storage
        .recovery
        .fail_queued(&tenant, failed.turn_id, &problem, &stamp);
    let committed = result.await.success().expect("the turn waits");
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(
        (event.kind, event.turn_id),
        (EventType::TurnFailed, Some(failed.turn_id))
    );
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    let turn = lookup::turn(storage, failed.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(
        (turn.status, turn.error),
        (TurnStatus::Failed, Some(problem))
    );
    assert_eq!(turn.finished_at, Some(fixture::at(800)));
    let record = lookup::record(
        storage,
        failed
            .claim
            .as_ref()
            .expect("the turn has an idempotency entry"),
    )
    .await;
    let released_into = record.and_then(|record| record.released_into);
    assert_eq!(released_into, Some(queue.conversation.id));
    assert_eq!(
        lookup::messages(storage, queue.conversation.id).await.len(),
        1
    );
    let ending = TurnEnding::Completed(fixture::reply(1));
    let finish = fixture::finish(&queue.running, ending);
    let (_, promoted) = setup::finish_turn(storage, finish).await;
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, queue.waiting[1].turn_id);
}

/// A turn that is running, has ended, does not exist or belongs to another tenant is not failed;
/// nothing is written.
pub async fn only_queued_turns_can_be_failed(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 2).await;
    let other = setup::second_tenant(storage).await;
    let ended = queue.waiting[1].turn_id;
    setup::cancel_turn(storage, &queue.waiting[1], None).await;
    let ours = fixture::tenant();
    let (problem, stamp) = (fixture::lasting_problem(), fixture::stamp(800));
    let head = log::head(storage, &ours).await;
    for (tenant, turn) in [
        (&ours, queue.running.turn_id),
        (&ours, ended),
        (&ours, fixture::turn_id(404)),
        (&other, queue.waiting[0].turn_id),
    ] {
        let result = storage.recovery.fail_queued(tenant, turn, &problem, &stamp);
        assert_eq!(result.await.success(), None, "{turn} of {tenant}");
    }
    assert_eq!(log::head(storage, &ours).await, head);
    let running = lookup::context(storage, queue.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(queue.running.turn_id));
    let waits = lookup::turn(storage, queue.waiting[0].turn_id).await;
    assert_eq!(waits.map(|turn| turn.status), Some(TurnStatus::Queued));
}
