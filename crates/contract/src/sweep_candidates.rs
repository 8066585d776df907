//! The tenants and turns that need a sweep.

use std::time::Duration;

use domain::{EventType, TenantId, TurnStatus};
use writes::{BeginTurn, ConversationTarget, TurnEnding};

use crate::{
    Store,
    dead_nodes::{
        LONG, TurnQueue, dying_node, mark_dead_nodes, release, run_sweep, sweep, two_nodes,
    },
    fixture, log, lookup,
    results::{ResultExt as _, event_count},
    setup,
};

/// Starts a turn of another tenant on process 1.
pub(crate) async fn started_of(storage: &Store, tenant: &TenantId) -> BeginTurn {
    let agent = setup::insert_agent_in(storage, tenant, fixture::agent(1)).await;
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    let begin = BeginTurn {
        tenant: tenant.clone(),
        ..fixture::begin_turn(1, &agent, target)
    };
    setup::start_turn(storage, &begin).await;
    begin
}

async fn to_sweep(storage: &Store, max_wait: Duration) -> Vec<TenantId> {
    let result = storage.sweep.tenants_to_sweep(max_wait).await;
    let mut tenants = result.success();
    tenants.sort();
    tenants
}

/// A healthy tenant needs no sweep, neither with a running turn nor with turns queued behind it.
pub async fn a_healthy_tenant_needs_no_sweep(storage: &Store) {
    let agent = two_nodes(storage).await;
    setup::second_tenant(storage).await;
    TurnQueue::begin(storage, &agent, 1, 2).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
}

/// The tenants with turns of dead or unknown processes, each once.
pub async fn tenants_with_turns_of_dead_nodes_need_a_sweep(storage: &Store) {
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

/// The tenants with turns that their processes have released.
pub async fn tenants_with_turns_without_a_node_need_a_sweep(storage: &Store) {
    let agent = two_nodes(storage).await;
    let other = setup::second_tenant(storage).await;
    let theirs = started_of(storage, &other).await;
    let ours = TurnQueue::begin(storage, &agent, 1, 1).await;
    release(storage, &theirs).await;
    assert_eq!(to_sweep(storage, LONG).await, [other]);
    release(storage, &ours.running).await;
    assert_eq!(to_sweep(storage, LONG).await.len(), 2);
    run_sweep(storage, &sweep()).await;
    assert_eq!(to_sweep(storage, LONG).await, [theirs.tenant]);
}

/// The tenants with a queued turn that waits behind no running one, or has waited for too long.
pub async fn tenants_with_stuck_queued_turns_need_a_sweep(storage: &Store) {
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
pub async fn a_queued_turn_can_be_failed(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 2).await;
    let (tenant, time) = (fixture::tenant(), fixture::at(800));
    let (failed, problem) = (&queue.waiting[0], fixture::retryable_problem());
    let result = storage
        .sweep
        .fail_queued(&tenant, failed.turn_id, &problem, time);
    let committed = result.await.success().expect("the turn waits");
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(
        (event.kind, event.turn_id),
        (EventType::TurnFailed, Some(failed.turn_id))
    );
    let actor = failed.stamp.actor.clone();
    assert_eq!((event.time, event.actor), (time, actor));
    let turn = lookup::turn(storage, failed.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(
        (turn.status, turn.error),
        (TurnStatus::Failed, Some(problem))
    );
    assert_eq!(turn.finished_at, Some(time));
    let record = lookup::record(
        storage,
        failed
            .idempotency
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
pub async fn only_queued_turns_can_be_failed(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 2).await;
    let other = setup::second_tenant(storage).await;
    let ended = queue.waiting[1].turn_id;
    setup::cancel_turn(storage, &queue.waiting[1], None).await;
    let ours = fixture::tenant();
    let (problem, time) = (fixture::lasting_problem(), fixture::at(800));
    let head = log::head(storage, &ours).await;
    for (tenant, turn) in [
        (&ours, queue.running.turn_id),
        (&ours, ended),
        (&ours, fixture::turn_id(404)),
        (&other, queue.waiting[0].turn_id),
    ] {
        let result = storage.sweep.fail_queued(tenant, turn, &problem, time);
        assert_eq!(result.await.success(), None, "{turn} of {tenant}");
    }
    assert_eq!(log::head(storage, &ours).await, head);
    let running = lookup::state(storage, queue.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(queue.running.turn_id));
    let waits = lookup::turn(storage, queue.waiting[0].turn_id).await;
    assert_eq!(waits.map(|turn| turn.status), Some(TurnStatus::Queued));
}
