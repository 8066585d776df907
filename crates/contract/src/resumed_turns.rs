//! `SweepRepository::sweep`: resuming turns without a live node.

use domain::{EventType, ModelResponse, ProblemCode, Resumption, TurnStep};
use writes::{BeginTurn, FinishOutcome, Sweep, SweepOutcome, TurnEnding};

use crate::{
    Store,
    dead_nodes::{
        TurnQueue, assert_failed, assert_resumed, ids, mark_dead_nodes, promoted_ids, release,
        report_lost, run_sweep, sweep, sweeper, two_nodes,
    },
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

/// Turns of a marked process are given to the node of the sweep, all in one pass, with an entry in
/// their journals. Their events have the principal that started them as actor.
pub async fn a_sweep_resumes_turns_of_dead_nodes(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut queues = Vec::new();
    for number in 1..=3 {
        queues.push(TurnQueue::begin(storage, &agent, number, 1).await);
    }
    mark_dead_nodes(storage).await;
    let swept = run_sweep(storage, &sweep()).await;
    let running = ids(queues.iter().map(|queue| &queue.running));
    assert_eq!((promoted_ids(&swept), &swept.failed), (running, &vec![]));
    let committed = swept.committed.expect("there was something to do");
    let events = log::events_of(storage, committed).await;
    assert_eq!(events.len(), 3);
    let resumed = queues.iter().zip(&swept.promoted);
    for (event, (queue, resumed)) in events.iter().zip(resumed) {
        let running = &queue.running;
        assert_eq!(event.kind, EventType::TurnResumed);
        assert_eq!(event.turn_id, Some(running.turn_id));
        assert_eq!(event.conversation_id, Some(queue.conversation.id));
        let received = (event.time, &event.actor);
        assert_eq!(received, (sweep().now, &running.stamp.actor));
        assert_resumed(storage, running).await;
        let journal = lookup::journal(storage, running.turn_id).await;
        assert_eq!(journal, [TurnStep::Resumed(Resumption::after(&[], true))]);
        assert_eq!(resumed.journal, journal);
        assert_eq!(resumed.client_tools, running.client_tools);
        assert_eq!(resumed.response_schema, running.response_schema);
        let stored = lookup::turn(storage, running.turn_id).await;
        assert_eq!(Some(&resumed.turn), stored.as_ref());
        assert_eq!(resumed.user_id, queue.conversation.user_id);
        assert_eq!(resumed.messages.message.id, running.message_id);
        let context = lookup::state(storage, queue.conversation.id).await;
        assert_eq!(context.running_turn, Some(running.turn_id));
        assert_eq!((context.last_message_seq, context.turn_count), (1, 1));
    }
    assert_eq!(run_sweep(storage, &sweep()).await, SweepOutcome::default());
}

/// So are turns of a process that is unknown or was removed.
pub async fn a_sweep_resumes_turns_of_unknown_nodes(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 0).await;
    storage.nodes.delete(queue.running.node).await.success();
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(promoted_ids(&swept), [queue.running.turn_id]);
    assert_resumed(storage, &queue.running).await;
}

/// Turns that their processes have released are resumed, however often.
pub async fn a_sweep_resumes_turns_without_a_node(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 1).await;
    release(storage, &queue.running).await;
    let resumed = BeginTurn {
        node: sweeper(),
        ..queue.running
    };
    for count in 1..=4 {
        let swept = run_sweep(storage, &sweep()).await;
        assert_eq!(
            (promoted_ids(&swept), swept.failed),
            (vec![resumed.turn_id], vec![])
        );
        assert_resumed(storage, &resumed).await;
        let journal = lookup::journal(storage, resumed.turn_id).await;
        assert_eq!(journal.len(), count);
        release(storage, &resumed).await;
        let running = storage.sweep.in_progress_under(sweeper()).await;
        assert_eq!(running.success(), []);
    }
}

/// A turn that its live process has lost is resumed once. The second time it fails, unless it has ended
/// a step in between.
pub async fn a_sweep_resumes_turns_that_live_nodes_lost_once(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 0).await;
    report_lost(storage, &queue.running).await;
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(promoted_ids(&swept), [queue.running.turn_id]);
    assert_resumed(storage, &queue.running).await;
    let resumed = BeginTurn {
        node: sweeper(),
        ..queue.running
    };
    report_lost(storage, &resumed).await;
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(swept.failed, [resumed.turn_id]);
    assert_failed(storage, &resumed, ProblemCode::Interrupted).await;
}

/// Resumed turns count towards the limit, and each is resumed once.
pub async fn a_sweep_resumes_at_most_the_limit(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut expected = Vec::new();
    for number in 1..=7 {
        let queue = TurnQueue::begin(storage, &agent, number, 1).await;
        expected.push(queue.running.turn_id);
        if number % 2 == 0 {
            release(storage, &queue.running).await;
        }
    }
    mark_dead_nodes(storage).await;
    let mut resumed = Vec::new();
    for (limit, count) in [(1, 1), (2, 2), (0, 0), (3, 3), (3, 1), (3, 0)] {
        let limited = Sweep { limit, ..sweep() };
        let swept = run_sweep(storage, &limited).await;
        assert_eq!((swept.promoted.len(), swept.failed.len()), (count, 0));
        resumed.extend(promoted_ids(&swept));
    }
    expected.sort();
    resumed.sort();
    assert_eq!(resumed, expected);
}

/// A resumed turn is ended by its new node, which then starts the next one.
pub async fn a_resumed_turn_is_ended_by_its_new_node(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 1).await;
    mark_dead_nodes(storage).await;
    run_sweep(storage, &sweep()).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let ending = || TurnEnding::Completed(fixture::reply(1));
    let late = fixture::finish(&queue.running, ending());
    let outcome = storage.turns.finish_turn(late).await.success();
    assert_eq!(outcome, FinishOutcome::NotOwned);
    let model = TurnStep::Model(ModelResponse::default());
    let late = fixture::record_steps(&queue.running, vec![(1, model.clone())]);
    assert!(!storage.writes.write(late).await.success().is_recorded());
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let resumed = BeginTurn {
        node: sweeper(),
        ..queue.running
    };
    let step = fixture::record_steps(&resumed, vec![(1, model)]);
    assert!(storage.writes.write(step).await.success().is_recorded());
    let finish = fixture::finish(&resumed, ending());
    let (_, promoted) = setup::finish_turn(storage, finish).await;
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, queue.waiting[0].turn_id);
}
