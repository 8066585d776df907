//! `SweepRepository::sweep`: failing turns that were lost twice, and what a pass may change.

use std::time::Duration;

use domain::{EventType, ProblemCode, ToolCall, TurnStatus, TurnStep};
use writes::{BeginTurn, ConversationTarget, FinishOutcome, Sweep, SweepOutcome, TurnEnding};

use crate::{
    Store,
    dead_nodes::{
        TurnQueue, assert_failed, ids, mark_dead_nodes, promoted_ids, run_sweep, sweep, two_nodes,
    },
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

async fn status(storage: &Store, begin: &BeginTurn) -> Option<TurnStatus> {
    let turn = lookup::turn(storage, begin.turn_id).await;
    turn.map(|turn| turn.status)
}

/// Turns of a marked process that were lost before, and have ended no step since, are failed as
/// `interrupted`, all in one pass, with their calls, and release their keys. Their events have the
/// principal that started them as actor.
pub async fn a_sweep_fails_turns_that_are_lost_twice(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut queues = Vec::new();
    for number in 1..=3 {
        let queue = TurnQueue::begin_lost(storage, &agent, number, 0).await;
        let call = TurnStep::Tool(fixture::tool_step("call"));
        let call = fixture::record_steps(&queue.running, vec![(1, call)]);
        assert!(storage.writes.write(call).await.success().is_recorded());
        queues.push(queue);
    }
    mark_dead_nodes(storage).await;
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(swept.failed, ids(queues.iter().map(|queue| &queue.running)));
    assert_eq!(swept.promoted, []);
    let committed = swept.committed.expect("there was something to do");
    let events = log::events_of(storage, committed).await;
    assert_eq!(events.len(), 3);
    for (event, queue) in events.iter().zip(&queues) {
        assert_eq!(event.kind, EventType::TurnFailed);
        assert_eq!(event.turn_id, Some(queue.running.turn_id));
        assert_eq!(event.conversation_id, Some(queue.conversation.id));
        let received = (event.time, &event.actor);
        assert_eq!(received, (sweep().now, &queue.running.stamp.actor));
        assert_failed(storage, &queue.running, ProblemCode::Interrupted).await;
        let head = lookup::state(storage, queue.conversation.id).await;
        assert_eq!((head.running_turn, head.last_message_seq), (None, 1));
        let turn = lookup::turn(storage, queue.running.turn_id).await;
        let calls = turn.expect("the turn is kept").tool_calls;
        let calls: Vec<_> = calls.iter().map(|it| (&*it.id, &*it.status)).collect();
        assert_eq!(calls, [("call", ToolCall::OUTCOME_UNKNOWN)]);
    }
}

/// A sweep of a healthy tenant writes nothing: an expired lease is not a mark, and a queued turn is
/// not a failure.
pub async fn a_sweep_of_a_healthy_tenant_writes_nothing(storage: &Store) {
    let agent = two_nodes(storage).await;
    TurnQueue::begin(storage, &agent, 1, 2).await;
    let head = log::head(storage, &fixture::tenant()).await;
    assert_eq!(run_sweep(storage, &sweep()).await, SweepOutcome::default());
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// A pass changes at most `limit` turns; a caller that receives that many calls again, with the
/// same result as one large pass.
pub async fn a_sweep_changes_at_most_the_limit(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut queues = Vec::new();
    for number in 1..=4 {
        queues.push(TurnQueue::begin_lost(storage, &agent, number, 2).await);
    }
    mark_dead_nodes(storage).await;
    let mut all = SweepOutcome::default();
    for limit in [1, 2, 3, 0, 3] {
        let limited = Sweep { limit, ..sweep() };
        let swept = run_sweep(storage, &limited).await;
        let touched = swept.failed.len() + swept.promoted.len();
        assert_eq!(
            touched,
            limit.min(8 - all.failed.len() - all.promoted.len())
        );
        all.failed.extend(swept.failed);
        all.promoted.extend(swept.promoted);
    }
    let mut expected = ids(queues.iter().map(|queue| &queue.running));
    let mut failed = all.failed.clone();
    expected.sort();
    failed.sort();
    assert_eq!(failed, expected);
    let mut expected = ids(queues.iter().map(|queue| &queue.waiting[0]));
    let mut starts = promoted_ids(&all);
    expected.sort();
    starts.sort();
    assert_eq!(starts, expected);
    assert_eq!(run_sweep(storage, &sweep()).await, SweepOutcome::default());
}

/// Turns of another tenant are not changed, and do not count towards the limit.
pub async fn a_sweep_changes_only_its_tenant(storage: &Store) {
    let agent = two_nodes(storage).await;
    let ours = TurnQueue::begin(storage, &agent, 1, 1).await;
    let other = setup::second_tenant(storage).await;
    let agent = setup::insert_agent_in(storage, &other, agent).await;
    let theirs = BeginTurn {
        tenant: other.clone(),
        ..fixture::begin_turn(
            900,
            &agent,
            ConversationTarget::New(fixture::conversation(9, agent.id)),
        )
    };
    setup::start_turn(storage, &theirs).await;
    mark_dead_nodes(storage).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let of_one = Sweep {
        tenant: other.clone(),
        limit: 1,
        ..sweep()
    };
    let swept = run_sweep(storage, &of_one).await;
    assert_eq!(promoted_ids(&swept), [theirs.turn_id]);
    let expired = Sweep {
        max_wait: Duration::ZERO,
        ..of_one
    };
    assert_eq!(run_sweep(storage, &expired).await, SweepOutcome::default());
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(promoted_ids(&swept), [ours.running.turn_id]);
}

/// The late end of a turn that was failed is rejected, and changes nothing.
pub async fn a_late_end_of_a_swept_turn_is_rejected(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin_lost(storage, &agent, 1, 1).await;
    mark_dead_nodes(storage).await;
    run_sweep(storage, &sweep()).await;
    let head = log::head(storage, &fixture::tenant()).await;
    for ending in [
        TurnEnding::Completed(fixture::reply(1)),
        TurnEnding::failed(fixture::lasting_problem()),
    ] {
        let finish = fixture::finish(&queue.running, ending);
        let result = storage.turns.finish_turn(finish).await.success();
        assert_eq!(result, FinishOutcome::NotOwned);
    }
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    assert_failed(storage, &queue.running, ProblemCode::Interrupted).await;
    let running = lookup::state(storage, queue.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(queue.waiting[0].turn_id));
}

/// A turn that a deletion has cancelled is neither resumed nor failed, and no turn starts in its place.
pub async fn a_sweep_ignores_deleted_conversations(storage: &Store) {
    let agent = two_nodes(storage).await;
    let of_queue = TurnQueue::begin(storage, &agent, 1, 2).await;
    let of_agent = TurnQueue::begin(storage, &agent, 2, 2).await;
    mark_dead_nodes(storage).await;
    setup::delete_conversation(storage, &of_queue.conversation).await;
    setup::delete_agent(storage, &agent).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let expired = Sweep {
        max_wait: Duration::ZERO,
        ..sweep()
    };
    assert_eq!(run_sweep(storage, &expired).await, SweepOutcome::default());
    let tenants = storage.sweep.tenants_to_sweep(Duration::ZERO).await;
    assert_eq!(tenants.success(), []);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    for queue in [of_queue, of_agent] {
        for begin in [&queue.running, &queue.waiting[0], &queue.waiting[1]] {
            assert_eq!(status(storage, begin).await, Some(TurnStatus::Cancelled));
        }
    }
}
