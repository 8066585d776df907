//! Sweeps beside other sweeps, and beside those whose turns they end.

use std::collections::BTreeSet;

use domain::{EventType, TurnStatus};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, ExchangeTarget, FinishOutcome, Storage, Swept,
    TurnEnding,
};
use tokio::task::JoinSet;

use crate::{
    answers::Answer as _,
    dead_nodes::{LONG, Talk, dying_node, marked, sweep, sweeper, swept, two_nodes},
    found, given, log, samples,
};

async fn count_of(storage: &Storage, kind: EventType) -> usize {
    let types = log::types(storage).await;
    types.into_iter().filter(|found| *found == kind).count()
}

/// So many passes at once.
async fn swept_at_once(storage: &Storage, passes: usize) -> Vec<Swept> {
    let mut sweepers = JoinSet::new();
    for _ in 0..passes {
        let storage = storage.clone();
        sweepers.spawn(async move { swept(&storage, &sweep()).await });
    }
    sweepers.join_all().await
}

/// However many sweep at once, each turn is failed once and started once, and one of them is told.
pub async fn sweeps_at_once_fail_and_start_each_turn_once(storage: &Storage) {
    const TALKS: u32 = 12;
    let agent = two_nodes(storage).await;
    for number in 1..=TALKS {
        Talk::begun(storage, &agent, number, 2).await;
    }
    marked(storage).await;
    let passes = swept_at_once(storage, 4).await;
    let failed: Vec<_> = passes.iter().flat_map(|pass| &pass.failed).collect();
    let started = passes.iter().flat_map(|pass| &pass.promoted);
    let started: Vec<_> = started.map(|promoted| promoted.turn.id).collect();
    assert_eq!(
        (failed.len(), started.len()),
        (TALKS as usize, TALKS as usize)
    );
    let failed: BTreeSet<_> = failed.into_iter().copied().collect();
    let expected = (1..=TALKS).map(|number| samples::turn_id(100 * number));
    assert_eq!(failed, expected.collect());
    let expected = (1..=TALKS).map(|number| samples::turn_id(100 * number + 1));
    let started: BTreeSet<_> = started.into_iter().collect();
    assert_eq!(started, expected.collect());
    assert_eq!(
        count_of(storage, EventType::TurnFailed).await,
        TALKS as usize
    );
    let starts = count_of(storage, EventType::TurnStarted).await;
    assert_eq!(starts, 2 * TALKS as usize);
}

/// Processes are marked once, however many look at once.
pub async fn marks_at_once_mark_each_process_once(storage: &Storage) {
    storage.nodes.insert(sweeper(), LONG).await.answered();
    for number in 1..=6 {
        dying_node(storage, number).await;
    }
    let mut markers = JoinSet::new();
    for _ in 0..4 {
        let storage = storage.clone();
        markers.spawn(async move { marked(&storage).await });
    }
    // One that was being looked at by another is found by the next.
    let marks: u64 = markers.join_all().await.into_iter().sum();
    assert_eq!(marks + marked(storage).await, 6);
    for number in 1..=6 {
        let renewed = storage.nodes.renew(samples::node_id(number), LONG).await;
        assert!(!renewed.answered(), "process {number}");
    }
}

/// A sweep and the late end of a turn race on one condition in the store: exactly one wins.
pub async fn either_a_sweep_or_the_end_wins(storage: &Storage) {
    let agent = two_nodes(storage).await;
    for number in 1..=24 {
        dying_node(storage, 100 + number).await;
        let target = ExchangeTarget::New(samples::conversation(number, agent.id));
        let question = BeginTurn {
            node: samples::node_id(100 + number),
            ..samples::question(number, &agent, target)
        };
        given::started(storage, &question).await;
        marked(storage).await;
        let ending = TurnEnding::Completed(samples::reply(number));
        let finish = storage
            .turns
            .finish_turn(samples::finish(&question, ending));
        let pass = sweep();
        let (finished, swept) = if number % 2 == 0 {
            futures::join!(finish, storage.recovery.sweep(&pass))
        } else {
            let (swept, finished) = futures::join!(storage.recovery.sweep(&pass), finish);
            (finished, swept)
        };
        let turn = found::turn(storage, question.turn_id).await;
        let status = turn.map(|turn| turn.status);
        match (finished.answered(), swept.answered().failed.as_slice()) {
            (FinishOutcome::Finished { .. }, []) => {
                assert_eq!(status, Some(TurnStatus::Completed));
            }
            (FinishOutcome::Refused, [failed]) => {
                assert_eq!(
                    (*failed, status),
                    (question.turn_id, Some(TurnStatus::Failed))
                );
            }
            both => panic!("both or none won: {both:?}"),
        }
    }
    let ends = count_of(storage, EventType::TurnCompleted).await
        + count_of(storage, EventType::TurnFailed).await;
    assert_eq!(ends, 24);
}

/// A sweep and a cancellation: the turn ends once, and the one behind it starts once.
pub async fn either_a_sweep_or_a_cancellation_wins(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let mut talks = Vec::new();
    for number in 1..=16 {
        talks.push(Talk::begun(storage, &agent, number, 1).await);
    }
    marked(storage).await;
    let mut cancels = JoinSet::new();
    for talk in &talks {
        let (storage, id) = (storage.clone(), talk.running.turn_id);
        cancels.spawn(async move {
            let (tenant, stamp) = (samples::tenant(), samples::stamp(900));
            let node = Some(sweeper());
            let cancel = storage.turns.cancel_turn(&tenant, id, None, node, &stamp);
            match cancel.await.answered() {
                CancelOutcome::Cancelled { promoted, .. } => (true, promoted.is_some()),
                CancelOutcome::AlreadyFinal => (false, false),
                CancelOutcome::NotFound => panic!("the turn is there"),
            }
        });
    }
    let passes = swept_at_once(storage, 2).await;
    let cancels = cancels.join_all().await;
    let cancelled = cancels.iter().filter(|(cancelled, _)| *cancelled).count();
    let by_cancel = cancels.iter().filter(|(_, promoted)| *promoted).count();
    let failed: usize = passes.iter().map(|pass| pass.failed.len()).sum();
    let by_sweep: usize = passes.iter().map(|pass| pass.promoted.len()).sum();
    assert_eq!((cancelled + failed, by_cancel + by_sweep), (16, 16));
    assert_eq!(count_of(storage, EventType::TurnStarted).await, 32);
    for talk in talks {
        let running = found::head(storage, talk.conversation.id)
            .await
            .running_turn;
        assert_eq!(running, Some(talk.waiting[0].turn_id));
    }
}

/// A process that is marked while it begins turns leaves none behind: what had begun is failed by
/// one of the next passes, all else was refused.
pub async fn no_turn_stays_that_began_while_its_process_was_marked(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let mut begins = JoinSet::new();
    for number in 1..=32 {
        let target = ExchangeTarget::New(samples::conversation(number, agent.id));
        let question = samples::question(number, &agent, target);
        let storage = storage.clone();
        begins.spawn(async move { storage.turns.begin_turn(question).await.answered() });
    }
    let mut failed = 0;
    let sweeper = storage.clone();
    let sweeping = async move {
        marked(&sweeper).await;
        swept(&sweeper, &sweep()).await.failed.len()
    };
    let (begun, first_pass) = futures::join!(begins.join_all(), sweeping);
    failed += first_pass;
    failed += swept(storage, &sweep()).await.failed.len();
    let is_started = |outcome: &&BeginOutcome| matches!(outcome, BeginOutcome::Started { .. });
    let started = begun.iter().filter(is_started).count();
    let refused = begun
        .iter()
        .filter(|outcome| **outcome == BeginOutcome::NodeRefused);
    assert_eq!((failed, started + refused.count()), (started, 32));
    let left = storage
        .recovery
        .in_progress_under(samples::node_id(1))
        .await;
    assert_eq!(left.answered(), []);
}
