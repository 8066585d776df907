//! Sweeps during other sweeps, and during the end of the turns that they resume or fail.

use std::collections::BTreeSet;

use domain::{EventType, TurnStatus};
use tokio::task::JoinSet;
use writes::{
    BeginOutcome, BeginTurn, CancelOutcome, ConversationTarget, FinishOutcome, SweepOutcome,
    TurnEnding,
};

use crate::{
    Store,
    dead_nodes::{
        LONG, TurnQueue, dying_node, lose_once, mark_dead_nodes, promoted_ids, release, run_sweep,
        sweep, sweeper, two_nodes,
    },
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

async fn count_of(storage: &Store, kind: EventType) -> usize {
    let types = log::types(storage).await;
    types.into_iter().filter(|found| *found == kind).count()
}

/// Runs `passes` sweeps at the same time.
async fn run_sweeps_at_once(storage: &Store, passes: usize) -> Vec<SweepOutcome> {
    let mut sweepers = JoinSet::new();
    for _ in 0..passes {
        let storage = storage.clone();
        sweepers.spawn(async move { run_sweep(&storage, &sweep()).await });
    }
    sweepers.join_all().await
}

/// During concurrent sweeps, each turn is failed once and promoted once, and exactly one sweep
/// returns it.
pub async fn concurrent_sweeps_fail_and_promote_each_turn_once(storage: &Store) {
    const TALKS: u32 = 12;
    let agent = two_nodes(storage).await;
    for number in 1..=TALKS {
        TurnQueue::begin_lost(storage, &agent, number, 2).await;
    }
    mark_dead_nodes(storage).await;
    let passes = run_sweeps_at_once(storage, 4).await;
    let failed: Vec<_> = passes.iter().flat_map(|pass| &pass.failed).collect();
    let started = passes.iter().flat_map(|pass| &pass.promoted);
    let started: Vec<_> = started.map(|promoted| promoted.turn.id).collect();
    assert_eq!(
        (failed.len(), started.len()),
        (TALKS as usize, TALKS as usize)
    );
    let failed: BTreeSet<_> = failed.into_iter().copied().collect();
    let expected = (1..=TALKS).map(|number| fixture::turn_id(100 * number));
    assert_eq!(failed, expected.collect());
    let expected = (1..=TALKS).map(|number| fixture::turn_id(100 * number + 1));
    let started: BTreeSet<_> = started.into_iter().collect();
    assert_eq!(started, expected.collect());
    assert_eq!(
        count_of(storage, EventType::TurnFailed).await,
        TALKS as usize
    );
    let starts = count_of(storage, EventType::TurnStarted).await;
    assert_eq!(starts, 2 * TALKS as usize);
}

/// During concurrent sweeps, each turn is resumed once, and exactly one sweep returns it.
pub async fn concurrent_sweeps_resume_each_turn_once(storage: &Store) {
    const TALKS: u32 = 12;
    let agent = two_nodes(storage).await;
    for number in 1..=TALKS {
        let queue = TurnQueue::begin(storage, &agent, number, 1).await;
        if number % 3 == 0 {
            release(storage, &queue.running).await;
        }
    }
    mark_dead_nodes(storage).await;
    let passes = run_sweeps_at_once(storage, 4).await;
    assert!(passes.iter().all(|pass| pass.failed.is_empty()));
    let mut resumed: Vec<_> = passes.iter().flat_map(promoted_ids).collect();
    resumed.sort();
    let expected: Vec<_> = (1..=TALKS)
        .map(|number| fixture::turn_id(100 * number))
        .collect();
    assert_eq!(resumed, expected);
    let events = count_of(storage, EventType::TurnResumed).await;
    assert_eq!(events, TALKS as usize);
    for turn in resumed {
        assert_eq!(lookup::journal(storage, turn).await.len(), 1);
    }
}

/// During concurrent calls, each process is marked once.
pub async fn concurrent_calls_mark_each_node_once(storage: &Store) {
    storage
        .nodes
        .insert(sweeper(), &fixture::process(), LONG)
        .await
        .success();
    for number in 1..=6 {
        dying_node(storage, number).await;
    }
    let mut markers = JoinSet::new();
    for _ in 0..4 {
        let storage = storage.clone();
        markers.spawn(async move { mark_dead_nodes(&storage).await });
    }
    // A process that another call was marking is found by the next call.
    let marks: u64 = markers.join_all().await.into_iter().sum();
    assert_eq!(marks + mark_dead_nodes(storage).await, 6);
    for number in 1..=6 {
        let renewed = storage.nodes.renew(fixture::node_id(number), LONG).await;
        assert_eq!(renewed.success(), None, "process {number}");
    }
}

/// If a sweep and the end of a turn race, exactly one of them wins.
pub async fn either_a_sweep_or_the_end_wins(storage: &Store) {
    let agent = two_nodes(storage).await;
    for number in 1..=24 {
        dying_node(storage, 100 + number).await;
        let target = ConversationTarget::New(fixture::conversation(number, agent.id));
        let begin = BeginTurn {
            node: fixture::node_id(100 + number),
            ..fixture::begin_turn(number, &agent, target)
        };
        setup::start_turn(storage, &begin).await;
        if number % 4 < 2 {
            lose_once(storage, &begin).await;
        }
        mark_dead_nodes(storage).await;
        let ending = TurnEnding::Completed(fixture::reply(number));
        let finish = storage.turns.finish_turn(fixture::finish(&begin, ending));
        let pass = sweep();
        let (finished, swept) = if number % 2 == 0 {
            futures::join!(finish, storage.sweep.sweep(&pass))
        } else {
            let (swept, finished) = futures::join!(storage.sweep.sweep(&pass), finish);
            (finished, swept)
        };
        let turn = lookup::turn(storage, begin.turn_id).await;
        let status = turn.map(|turn| turn.status);
        let swept = swept.success();
        let resumed = promoted_ids(&swept);
        match (finished.success(), &*swept.failed, &*resumed) {
            (FinishOutcome::Finished { .. }, [], []) => {
                assert_eq!(status, Some(TurnStatus::Completed));
            }
            (FinishOutcome::NotOwned, [failed], []) => {
                assert_eq!((*failed, status), (begin.turn_id, Some(TurnStatus::Failed)));
            }
            (FinishOutcome::NotOwned, [], [resumed]) => {
                let running = Some(TurnStatus::InProgress);
                assert_eq!((*resumed, status), (begin.turn_id, running));
            }
            both => panic!("both or none won: {both:?}"),
        }
    }
    let ends = count_of(storage, EventType::TurnCompleted).await
        + count_of(storage, EventType::TurnFailed).await
        + count_of(storage, EventType::TurnResumed).await;
    assert_eq!(ends, 24);
}

/// If a sweep and a cancellation race, the turn ends once, and the next turn starts once.
pub async fn either_a_sweep_or_a_cancellation_wins(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut queues = Vec::new();
    for number in 1..=16 {
        queues.push(TurnQueue::begin_lost(storage, &agent, number, 1).await);
    }
    mark_dead_nodes(storage).await;
    let mut cancels = JoinSet::new();
    for queue in &queues {
        let (storage, id) = (storage.clone(), queue.running.turn_id);
        cancels.spawn(async move {
            let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
            let node = Some(sweeper());
            let cancel = storage.turns.cancel_turn(&tenant, id, None, node, &stamp);
            match cancel.await.success() {
                CancelOutcome::Cancelled { promoted, .. } => (true, promoted.is_some()),
                CancelOutcome::AlreadyFinal => (false, false),
                CancelOutcome::NotFound => panic!("the turn exists"),
            }
        });
    }
    let passes = run_sweeps_at_once(storage, 2).await;
    let cancels = cancels.join_all().await;
    let cancelled = cancels.iter().filter(|(cancelled, _)| *cancelled).count();
    let by_cancel = cancels.iter().filter(|(_, promoted)| *promoted).count();
    let failed: usize = passes.iter().map(|pass| pass.failed.len()).sum();
    let by_sweep: usize = passes.iter().map(|pass| pass.promoted.len()).sum();
    assert_eq!((cancelled + failed, by_cancel + by_sweep), (16, 16));
    assert_eq!(count_of(storage, EventType::TurnStarted).await, 32);
    for queue in queues {
        let running = lookup::state(storage, queue.conversation.id)
            .await
            .running_turn;
        assert_eq!(running, Some(queue.waiting[0].turn_id));
    }
}

/// A process that is marked while it begins turns keeps none: a later sweep resumes the turns that had
/// begun, and all others are rejected.
pub async fn no_turn_stays_with_its_node_if_that_is_marked_while_it_begins(storage: &Store) {
    let agent = two_nodes(storage).await;
    let mut begins = JoinSet::new();
    for number in 1..=32 {
        let target = ConversationTarget::New(fixture::conversation(number, agent.id));
        let begin = fixture::begin_turn(number, &agent, target);
        let storage = storage.clone();
        begins.spawn(async move { storage.turns.begin_turn(begin).await.success() });
    }
    let mut resumed = 0;
    let sweeper = storage.clone();
    let sweeping = async move {
        mark_dead_nodes(&sweeper).await;
        run_sweep(&sweeper, &sweep()).await.promoted.len()
    };
    let (begun, first_pass) = futures::join!(begins.join_all(), sweeping);
    resumed += first_pass;
    resumed += run_sweep(storage, &sweep()).await.promoted.len();
    let is_started = |outcome: &&BeginOutcome| matches!(outcome, BeginOutcome::Started { .. });
    let started = begun.iter().filter(is_started).count();
    let rejected = begun
        .iter()
        .filter(|outcome| **outcome == BeginOutcome::NodeDead);
    assert_eq!((resumed, started + rejected.count()), (started, 32));
    let left = storage.sweep.in_progress_under(fixture::node_id(1)).await;
    assert_eq!(left.success(), []);
}
