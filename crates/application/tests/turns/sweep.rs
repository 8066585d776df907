//! Turns that would be lost with their process.

use std::{collections::HashSet, sync::atomic::Ordering, time::Duration};

use application::ChatError;
use contract::fixture;
use domain::{ProblemCode, TurnStatus};
use scripted_engine::Script;
use writes::{BeginOutcome, BeginTurn};

use crate::{
    fixture::Fixture,
    gated_writes::GatedWrites,
    process::{Process, caller},
};

/// The limit of every wait: long enough for a slow machine, short enough for a test that hangs.
const TIME_LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn in_time<T>(waiting: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(TIME_LIMIT, waiting).await;
    waited.expect("it happens in time")
}

/// The process never learned that it was to run it, or its task has died.
#[tokio::test]
async fn a_turn_that_does_not_run_is_resumed_and_then_the_next_in_the_queue_runs() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let lost = BeginTurn {
        node: process.node.id(),
        idempotency: Some(fixture::entry("k")),
        ..fixture.begin_turn(1, &Script::deltas(["One."]))
    };
    let begun = fixture.begin(lost.clone()).await;
    assert!(matches!(begun, BeginOutcome::Started { .. }), "{begun:?}");
    let waiting = fixture.begin_turn(2, &Script::deltas(["Two."]));
    let waiting = BeginTurn {
        node: process.node.id(),
        ..waiting
    };
    let queued = fixture.begin(waiting.clone()).await;
    assert!(matches!(queued, BeginOutcome::Queued(_)), "{queued:?}");

    let lost_ids = process.reconciler.compare(&HashSet::new()).await;
    let lost_ids = lost_ids.expect("the store answers");
    assert_eq!(lost_ids, HashSet::from([lost.turn_id]));
    let status = fixture.turn(lost.turn_id).await.turn.status;
    assert_eq!(status, TurnStatus::InProgress, "once is not enough");
    let left = process.reconciler.compare(&lost_ids).await;
    assert_eq!(left.expect("the store answers"), HashSet::new());
    let running = fixture.storage.sweep.in_progress_under(process.node.id());
    assert_eq!(running.await.expect("the store answers"), []);
    assert_eq!(process.engine.asked(), 0, "it waits for a sweep");
    let swept = process.sweeper.sweep_all().await;
    swept.expect("the store answers");

    in_time(process.engine.wait_for_calls(2)).await;
    process.tasks.close();
    in_time(process.tasks.wait()).await;
    for (turn, text) in [(&lost, "One."), (&waiting, "Two.")] {
        let run = fixture.turn(turn.turn_id).await.turn;
        assert_eq!(run.reply.expect("the reply").content, text);
    }
    let entry = fixture::entry("k");
    let record = fixture.storage.idempotency.find(&lost.tenant, &entry).await;
    let record = record.expect("the store answers").expect("the record");
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (Some(lost.turn_id), None));
}

#[tokio::test]
async fn a_turn_that_is_lost_twice_fails_and_the_next_in_the_queue_runs() {
    let fixture = Fixture::new().await;
    let dead = [
        Process::start(&fixture).await,
        Process::start(&fixture).await,
    ];
    let lost = BeginTurn {
        node: dead[0].node.id(),
        ..fixture.begin_turn(1, &Script::deltas(["One"]).hang())
    };
    fixture.begin(lost.clone()).await;
    let waiting = BeginTurn {
        node: dead[0].node.id(),
        ..fixture.begin_turn(2, &Script::deltas(["Two."]))
    };
    fixture.begin(waiting.clone()).await;
    dead[1]
        .sweeper
        .sweep_all()
        .await
        .expect("the store answers");
    in_time(dead[1].engine.until_open_streams(1)).await;
    let status = fixture.turn(lost.turn_id).await.turn.status;
    assert_eq!(status, TurnStatus::InProgress);

    // In an embedded store, all other processes are dead.
    let process = Process::start(&fixture).await;
    process
        .sweeper
        .sweep_all()
        .await
        .expect("the store answers");
    let failed = fixture.turn(lost.turn_id).await.turn;
    assert_eq!(failed.error.expect("why").code, ProblemCode::Interrupted);
    in_time(process.engine.wait_for_calls(1)).await;
    process.tasks.close();
    in_time(process.tasks.wait()).await;
    let run = fixture.turn(waiting.turn_id).await.turn;
    assert_eq!(run.reply.expect("the reply").content, "Two.");
}

#[tokio::test]
async fn a_turn_whose_end_panics_is_detected_and_resumed() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let here = Some(fixture.conversation.id);
    let script = Script::deltas(["Lost."]).gate("end");
    let lost = process.send(&fixture, here, &script).await;
    let lost = lost.map_err(|error| error.to_string()).expect("it begins");
    let second = process
        .send(&fixture, here, &Script::deltas(["Two."]))
        .await;
    let second = second.map_err(|error| error.to_string()).expect("it waits");
    // The task of the turn reads the clock when its reply is complete.
    fixture.clock.1.store(true, Ordering::SeqCst);
    process.engine.open("end");
    let mut lost_ids = HashSet::new();
    while fixture.turn(lost.turn_id).await.turn.status == TurnStatus::InProgress {
        lost_ids = process
            .reconciler
            .compare(&lost_ids)
            .await
            .expect("a store");
        process.sweeper.sweep_all().await.expect("a store");
        tokio::task::yield_now().await;
    }
    let chatted = in_time(lost.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Lost.");
    let chatted = in_time(second.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Two.");
}

#[tokio::test]
async fn a_turn_that_runs_is_never_lost() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let script = Script::deltas(["Well."]).gate("end");
    let accepted = process.send(&fixture, None, &script).await;
    let accepted = accepted
        .map_err(|error| error.to_string())
        .expect("it begins");
    // The test pretends that the previous comparison reported the turn as lost.
    let lost_ids = HashSet::from([accepted.turn_id]);
    for _ in 0..2 {
        let left = process.reconciler.compare(&lost_ids).await;
        assert_eq!(left.expect("the store answers"), HashSet::new());
    }
    process.engine.open("end");
    let chatted = in_time(accepted.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Well.");
}

#[tokio::test]
async fn a_turn_promoted_by_a_sweep_can_be_cancelled_by_another_process() {
    let fixture = Fixture::new().await;
    let dead = Process::start(&fixture).await;
    let lost = BeginTurn {
        node: dead.node.id(),
        ..fixture.begin_turn(1, &Script::silence())
    };
    fixture.begin(lost.clone()).await;
    fixture.lose_once(&lost).await;
    let waiting = BeginTurn {
        node: dead.node.id(),
        ..fixture.begin_turn(2, &Script::deltas(["Well"]).hang())
    };
    fixture.begin(waiting.clone()).await;

    // This process does not know the tenant yet.
    let process = Process::start(&fixture).await;
    process
        .sweeper
        .sweep_all()
        .await
        .expect("the store answers");
    let failed = fixture.turn(lost.turn_id).await.turn;
    assert_eq!(failed.error.expect("why").code, ProblemCode::Interrupted);
    in_time(process.engine.until_open_streams(1)).await;
    // Another process cancels the turn. This process learns of it through the log alone.
    let cancelled = dead.turns.cancel(&caller(), waiting.turn_id).await;
    assert_eq!(
        cancelled.expect("it is there").status,
        TurnStatus::Cancelled
    );
    assert_eq!(process.engine.open_streams(), 1);
    process
        .invalidator
        .catch_up()
        .await
        .expect("the store answers");
    in_time(process.engine.until_open_streams(0)).await;
}

#[tokio::test]
async fn a_turn_promoted_by_a_cancellation_runs_even_if_the_caller_disconnects() {
    let mut fixture = Fixture::new().await;
    let gated = GatedWrites::gate_cancellations(&mut fixture);
    let process = Process::start(&fixture).await;
    let here = Some(fixture.conversation.id);
    let first = process
        .send(&fixture, here, &Script::silence().hang())
        .await;
    let first = first.map_err(|error| error.to_string()).expect("it begins");
    let second = process
        .send(&fixture, here, &Script::deltas(["Two."]))
        .await;
    let second = second.map_err(|error| error.to_string()).expect("it waits");
    let caller = caller();
    tokio::select! {
        _ = process.turns.cancel(&caller, first.turn_id) => panic!("it waits for the test"),
        () = gated.arrived.notified() => {}
    }
    gated.proceed.notify_one();
    let chatted = in_time(second.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Two.");
    let error = in_time(first.reply()).await.expect_err("it was cancelled");
    assert!(matches!(error, ChatError::Cancelled), "{error}");
    assert_eq!(process.engine.open_streams(), 0);
}

#[tokio::test]
async fn a_turn_that_begins_during_shutdown_is_released() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    process.runner.stop_promoting();
    process.runner.close();
    let accepted = process
        .send(&fixture, None, &Script::deltas(["Well."]).gate("end"))
        .await;
    let accepted = accepted
        .map_err(|error| error.to_string())
        .expect("it begins");
    let id = accepted.turn_id;
    let error = in_time(accepted.reply())
        .await
        .expect_err("it goes on elsewhere");
    let ChatError::Failed(failure) = error else {
        panic!("{error}");
    };
    assert_eq!(failure.code, ProblemCode::Draining);
    assert_eq!(fixture.turn(id).await.turn.status, TurnStatus::InProgress);

    let next = Process::start(&fixture).await;
    next.engine.open("end");
    next.sweeper.sweep_all().await.expect("the store answers");
    next.tasks.close();
    in_time(next.tasks.wait()).await;
    let turn = fixture.turn(id).await.turn;
    assert_eq!(turn.reply.expect("the reply").content, "Well.");
}

#[tokio::test]
async fn a_draining_process_promotes_no_queued_turn() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let here = Some(fixture.conversation.id);
    let script = Script::deltas(["One."]).gate("end");
    let first = process.send(&fixture, here, &script).await;
    let first = first.map_err(|error| error.to_string()).expect("it begins");
    let second = process.send(&fixture, here, &Script::silence()).await;
    let second = second.map_err(|error| error.to_string()).expect("it waits");
    process.runner.stop_promoting();
    process.engine.open("end");
    in_time(first.reply()).await.expect("a reply");
    process.tasks.close();
    in_time(process.tasks.wait()).await;
    let status = fixture.turn(second.turn_id).await.turn.status;
    assert_eq!((status, process.engine.asked()), (TurnStatus::Queued, 1));
}
