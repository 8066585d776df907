//! `SweepRepository::sweep`: queued turns start, or are failed if they have waited for too long.

use std::time::{Duration, Instant};

use domain::{EventType, ProblemCode, Turn, TurnStatus};
use writes::{BeginTurn, Sweep, SweepOutcome, TurnEnding};

use crate::{
    Store,
    dead_nodes::{
        TurnQueue, assert_failed, ids, mark_dead_nodes, promoted_ids, release, run_sweep, sweep,
        sweeper, two_nodes,
    },
    fixture, log, lookup,
    results::event_count,
    setup,
};

/// The first turn behind a failed one starts in the same pass, under the node that sweeps, with all
/// data that the node needs.
pub async fn a_sweep_promotes_the_turn_behind_a_failed_one(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin_lost(storage, &agent, 1, 2).await;
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    mark_dead_nodes(storage).await;
    let swept = run_sweep(storage, &sweep()).await;
    let committed = swept.committed.expect("there was something to do");
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnFailed, EventType::TurnStarted]);
    assert_eq!(swept.failed, [queue.running.turn_id]);
    let [starts] = swept.promoted.try_into().expect("one turn starts");
    let begin = &queue.waiting[0];
    assert_eq!(starts.tenant, fixture::tenant());
    assert_eq!(starts.principal, begin.stamp.actor);
    assert_eq!(starts.user_id, queue.conversation.user_id);
    assert_eq!(starts.messages.message.id, begin.message_id);
    assert_eq!(
        (starts.messages.message.seq, starts.messages.turn_number),
        (2, 1)
    );
    let stored = lookup::turn(storage, begin.turn_id).await;
    let stored = stored.expect("the turn exists");
    assert_eq!(starts.turn, stored);
    let expected = Turn {
        status: TurnStatus::InProgress,
        agent_version: Some(2),
        started_at: Some(sweep().now),
        ..stored.clone()
    };
    assert_eq!((stored.id, &stored), (begin.turn_id, &expected));
    let head = lookup::state(storage, queue.conversation.id).await;
    assert_eq!(head.running_turn, Some(begin.turn_id));
    assert_eq!((head.last_message_seq, head.turn_count), (2, 2));
    let ends = BeginTurn {
        node: sweeper(),
        ..begin.clone()
    };
    let ending = TurnEnding::Completed(fixture::reply(1));
    let (_, next) = setup::finish_turn(storage, fixture::finish(&ends, ending)).await;
    let next = next.expect("one more waits");
    assert_eq!(next.turn.id, queue.waiting[1].turn_id);
}

/// A queued turn without a turn in progress starts, whatever caused that state.
pub async fn a_sweep_promotes_a_turn_queued_behind_no_other(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 1).await;
    setup::cancel_turn(storage, &queue.running, None).await;
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(
        (promoted_ids(&swept), swept.failed),
        (ids(&queue.waiting), vec![])
    );
    assert_eq!(event_count(swept.committed.expect("a turn starts")), 1);
}

/// Turns start in the order in which they were queued, whatever their ids and times are.
pub async fn a_sweep_promotes_in_order_of_arrival(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin(storage, &agent, 1, 0).await;
    let mut running = queue.running.clone();
    let mut arrivals = Vec::new();
    for number in [9, 3, 7, 1, 8] {
        let target = fixture::existing(&queue.conversation, 1);
        let begin = fixture::begin_turn(number, &agent, target);
        setup::queue_turn(storage, &begin).await;
        arrivals.push(begin);
    }
    for expected in arrivals {
        setup::cancel_turn(storage, &running, None).await;
        let swept = run_sweep(storage, &sweep()).await;
        assert_eq!(promoted_ids(&swept), [expected.turn_id]);
        running = expected;
    }
}

/// In each conversation one turn starts, and none where a turn is running.
pub async fn a_sweep_promotes_one_turn_per_conversation(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut expected = Vec::new();
    for number in 1..=4 {
        let queue = TurnQueue::begin(storage, &agent, number, 2).await;
        if number % 2 == 0 {
            setup::cancel_turn(storage, &queue.running, None).await;
            expected.push(queue.waiting[0].turn_id);
        }
    }
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!((promoted_ids(&swept), swept.failed), (expected, vec![]));
    assert_eq!(run_sweep(storage, &sweep()).await, SweepOutcome::default());
}

/// A turn that has waited for too long is failed as `engine_timeout`, before it could start. A
/// running turn continues, whenever it was queued.
pub async fn a_sweep_fails_turns_that_waited_for_too_long(storage: &Store) {
    let agent = two_nodes(storage).await;
    let behind = TurnQueue::begin(storage, &agent, 1, 2).await;
    let free = TurnQueue::begin(storage, &agent, 2, 2).await;
    let node = Some(sweeper());
    let (_, starts) = setup::cancel_turn(storage, &free.running, node).await;
    let starts = starts.expect("a turn waits").turn.id;
    let expired = Sweep {
        max_wait: Duration::ZERO,
        ..sweep()
    };
    let swept = run_sweep(storage, &expired).await;
    let expected = [&behind.waiting[0], &behind.waiting[1], &free.waiting[1]];
    assert_eq!((&swept.failed, &swept.promoted), (&ids(expected), &vec![]));
    for begin in expected {
        assert_failed(storage, begin, ProblemCode::EngineTimeout).await;
    }
    let running = lookup::state(storage, behind.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(behind.running.turn_id));
    let running = lookup::state(storage, free.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(starts));
}

/// Queues a turn in this conversation now.
async fn queue_another(storage: &Store, queue: &TurnQueue, number: u32) -> BeginTurn {
    let target = fixture::existing(&queue.conversation, 1);
    let late = BeginTurn {
        stamp: fixture::stamp(-1_000_000),
        ..fixture::begin_turn(number, &fixture::agent(1), target)
    };
    setup::queue_turn(storage, &late).await;
    late
}

/// If the turns that waited for too long are failed, the next one starts, unless a turn is running.
/// The wait is measured by the store's clock, not by the times of the callers.
pub async fn a_sweep_promotes_the_next_turn_behind_turns_that_waited_for_too_long(storage: &Store) {
    let agent = two_nodes(storage).await;
    for attempt in 1..=8 {
        let free = TurnQueue::begin(storage, &agent, attempt, 1).await;
        let behind = TurnQueue::begin(storage, &agent, 10 + attempt, 1).await;
        setup::cancel_turn(storage, &free.running, None).await;
        let waits_since = Instant::now();
        // This test needs real time. A store can be slow, so each attempt waits longer.
        tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
        let starts = queue_another(storage, &free, 20 + attempt).await;
        let waits = queue_another(storage, &behind, 30 + attempt).await;
        let expired = Sweep {
            max_wait: waits_since.elapsed(),
            ..sweep()
        };
        let swept = run_sweep(storage, &expired).await;
        for begin in [&free.waiting[0], &behind.waiting[0]] {
            assert_failed(storage, begin, ProblemCode::EngineTimeout).await;
        }
        if swept.failed.len() == 2 {
            assert_eq!(promoted_ids(&swept), [starts.turn_id]);
            let turn = lookup::turn(storage, waits.turn_id).await;
            let status = turn.map(|turn| turn.status);
            assert_eq!(status, Some(TurnStatus::Queued));
            return;
        }
        // On a slow store, these were late too.
        for queue in [free, behind] {
            setup::delete_conversation(storage, &queue.conversation).await;
        }
    }
    panic!("what had not waited for long was failed every time");
}

/// Without a node to run them, or if that node is marked as dead, lost turns are left alone, and no
/// turn starts. Turns that waited for too long are failed all the same.
pub async fn a_sweep_without_a_live_node_resumes_and_promotes_no_turn(storage: &Store) {
    let agent = two_nodes(storage).await;
    let lost = TurnQueue::begin(storage, &agent, 1, 1).await;
    let lost_twice = TurnQueue::begin_lost(storage, &agent, 2, 1).await;
    let free = TurnQueue::begin(storage, &agent, 3, 1).await;
    setup::cancel_turn(storage, &free.running, None).await;
    let unowned = TurnQueue::begin(storage, &agent, 4, 1).await;
    release(storage, &unowned.running).await;
    mark_dead_nodes(storage).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let nodes = [None, Some(fixture::node_id(404)), Some(fixture::node_id(1))];
    for node in nodes {
        let pass = Sweep { node, ..sweep() };
        assert_eq!(run_sweep(storage, &pass).await, SweepOutcome::default());
    }
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let expired = Sweep {
        node: None,
        max_wait: Duration::ZERO,
        ..sweep()
    };
    let queues = [lost, lost_twice, free, unowned];
    let mut waiting = ids(queues.iter().map(|queue| &queue.waiting[0]));
    let mut swept = run_sweep(storage, &expired).await;
    waiting.sort();
    swept.failed.sort();
    assert_eq!((swept.failed, swept.promoted), (waiting, vec![]));
    let [lost, lost_twice, _, unowned] = queues;
    let mut swept = run_sweep(storage, &sweep()).await;
    assert_eq!(swept.failed, [lost_twice.running.turn_id]);
    swept.promoted.sort_by_key(|promoted| promoted.turn.id);
    let resumed = ids([&lost.running, &unowned.running]);
    assert_eq!(promoted_ids(&swept), resumed);
}

/// Times never move backwards in a conversation or a turn, although the clock of the process that
/// sweeps is behind.
pub async fn a_sweep_moves_no_time_backwards(storage: &Store) {
    let agent = two_nodes(storage).await;
    let queue = TurnQueue::begin_lost(storage, &agent, 1, 1).await;
    let before = lookup::conversation(storage, queue.conversation.id).await;
    let before = before.expect("the conversation exists").updated_at;
    mark_dead_nodes(storage).await;
    let behind = Sweep {
        now: fixture::at(-1_000_000),
        ..sweep()
    };
    let swept = run_sweep(storage, &behind).await;
    assert_eq!((promoted_ids(&swept).len(), swept.failed.len()), (1, 1));
    let turn = &swept.promoted[0].turn;
    assert_eq!(turn.started_at, Some(turn.created_at));
    for failed in &swept.failed {
        let turn = lookup::turn(storage, *failed)
            .await
            .expect("the turn exists");
        assert!(turn.finished_at >= turn.started_at, "{turn:?}");
    }
    let after = lookup::conversation(storage, queue.conversation.id).await;
    let after = after.expect("the conversation exists");
    assert!(after.updated_at >= before, "{after:?}");
    assert!(after.last_message_at >= Some(before), "{after:?}");
}
