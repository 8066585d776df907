//! Tests of what is recorded of a turn, and when.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use domain::TurnStep;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::{
    fixture::{FakeTools, call, request_with, response, text},
    journal_store::RunningTurn,
};

/// Longer than all pauses between attempts to write.
const LONG: Duration = Duration::from_mins(1);

fn sleeps(milliseconds: u64) -> ports::ModelChunk {
    call("sleeps", &json!({"ms": milliseconds}).to_string())
}

fn open_calls(entries: &[TurnStep]) -> usize {
    entries.iter().filter(|step| !step.has_ended()).count()
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_calls_records_nothing() {
    let request = request_with(&Arc::default(), &["time"]);
    let turn = RunningTurn::new(&request);
    let ended = turn.reply(request, vec![response(&[text("Well.")])]).await;
    assert_eq!(ended.unwrap().reply.unwrap().content, "Well.");
    assert!(turn.store.writes.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_ends_of_calls_that_come_together_share_a_write() {
    let request = request_with(&Arc::default(), &["sleeps"]);
    for (times, expected) in [
        ([1, 4, 9], vec![(4, 0), (0, 3)]),
        ([1, 200, 205], vec![(4, 0), (0, 1), (0, 2)]),
        ([300, 1, 150], vec![(4, 0), (0, 1), (0, 1), (0, 1)]),
    ] {
        let turn = RunningTurn::new(&request);
        let began = Instant::now();
        let responses = vec![response(&times.map(sleeps)), response(&[text("Done.")])];
        let ended = turn.reply(request.clone(), responses).await.unwrap();
        assert_eq!(ended.reply.unwrap().content, "Done.");
        assert_eq!(*turn.store.writes.lock(), expected);
        let slowest = Duration::from_millis(*times.iter().max().unwrap());
        let took = began.elapsed();
        assert!(took >= slowest && took < slowest + Duration::from_millis(20));
    }
}

#[tokio::test(start_paused = true)]
async fn a_journal_has_the_responses_and_the_calls_in_order() {
    let request = request_with(&Arc::default(), &["time", "fails"]);
    let first = [text("One. "), call("time", "{}"), call("gone", "{}")];
    let second = [text("Two."), call("fails", r#"{"a": 1}"#)];
    let responses = vec![response(&first), response(&second), response(&[text("!")])];
    let turn = RunningTurn::new(&request);
    let id = request.turn_id;
    turn.reply(request, responses).await.unwrap().reply.unwrap();
    let entries = turn.store.entries.lock().clone();
    let shown: Vec<_> = entries
        .iter()
        .map(|step| match step {
            TurnStep::Model(response) => format!("{}: {}", response.engine, response.text),
            TurnStep::Tool(step) => {
                let end = step.end.as_ref().expect("it has ended");
                format!("{} {} {}", step.call_id, step.arguments, end.status)
            }
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "model: One. ".to_owned(),
        format!("{id}-1 {{}} ok"),
        format!("{id}-2 {{}} unknown_tool"),
        "model: Two.".to_owned(),
        format!(r#"{id}-3 {{"a": 1}} failed"#),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test(start_paused = true)]
async fn no_call_is_made_before_it_is_recorded() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["time"]);
    let turn = RunningTurn::new(&request);
    turn.store.is_unavailable.store(true, Ordering::SeqCst);
    let responses = vec![response(&[call("time", "{}")]), response(&[text("Noon.")])];
    let mut replying = Box::pin(turn.reply(request, responses));
    assert!(timeout(LONG, &mut replying).await.is_err());
    assert!(fake_tools.calls().is_empty());
    assert!(turn.store.entries.lock().is_empty());
    turn.store.is_unavailable.store(false, Ordering::SeqCst);
    let ended = replying.await.unwrap();
    assert_eq!(ended.reply.unwrap().content, "Noon.");
    assert_eq!(fake_tools.calls().len(), 1);
    assert_eq!(*turn.store.writes.lock(), [(2, 0), (0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn the_model_is_not_asked_again_before_the_ends_of_calls_are_recorded() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["sleeps"]);
    let turn = RunningTurn::new(&request);
    let responses = vec![response(&[sleeps(100)]), response(&[text("Done.")])];
    let mut replying = Box::pin(turn.reply(request, responses));
    let outage = async {
        sleep(Duration::from_millis(50)).await;
        turn.store.is_unavailable.store(true, Ordering::SeqCst);
        sleep(LONG).await;
    };
    tokio::select! {
        _ = &mut replying => panic!("the end of the call is not recorded"),
        () = outage => {}
    }
    assert_eq!(fake_tools.calls().len(), 1);
    assert_eq!(open_calls(&turn.store.entries.lock()), 1);
    let text = turn.ownership.live.progress().reply.text.clone();
    assert_eq!(text, "");
    turn.store.is_unavailable.store(false, Ordering::SeqCst);
    let ended = replying.await.unwrap();
    assert_eq!(ended.statuses(), [("sleeps", "ok")]);
    assert_eq!((ended.requests.len(), fake_tools.calls().len()), (2, 1));
    assert_eq!(open_calls(&turn.store.entries.lock()), 0);
}

/// Its end is stored before the other call ends: if the process dies then, it is not lost.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_call_is_recorded_while_another_one_runs() {
    let request = request_with(&Arc::default(), &["sleeps"]);
    let turn = RunningTurn::new(&request);
    let responses = vec![response(&[sleeps(100), sleeps(10_000)])];
    let replying = turn.reply(request, responses);
    assert!(timeout(Duration::from_secs(5), replying).await.is_err());
    assert_eq!(*turn.store.writes.lock(), [(3, 0), (0, 1)]);
    assert_eq!(open_calls(&turn.store.entries.lock()), 1);
}

/// A paused process that wakes up does nothing more for the turn.
#[tokio::test(start_paused = true)]
async fn a_turn_that_was_lost_while_a_tool_ran_goes_no_further() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["sleeps", "time"]);
    let turn = RunningTurn::new(&request);
    let responses = vec![response(&[sleeps(100)]), response(&[call("time", "{}")])];
    let replying = turn.reply(request, responses);
    let loss = async {
        sleep(Duration::from_millis(50)).await;
        turn.store.is_lost.store(true, Ordering::SeqCst);
    };
    let (ended, ()) = tokio::join!(replying, loss);
    assert!(ended.is_none(), "{ended:?}");
    assert!(
        !turn.ownership.live.is_interrupted(),
        "it does not hand it over"
    );
    assert_eq!(fake_tools.calls().len(), 1);
    assert_eq!(*turn.store.writes.lock(), [(2, 0)]);
    assert_eq!(open_calls(&turn.store.entries.lock()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_was_lost_before_a_call_does_not_make_it() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["time"]);
    let turn = RunningTurn::new(&request);
    turn.store.is_lost.store(true, Ordering::SeqCst);
    let ended = turn
        .reply(request, vec![response(&[call("time", "{}")])])
        .await;
    assert!(ended.is_none(), "{ended:?}");
    assert!(fake_tools.calls().is_empty());
    assert!(turn.store.entries.lock().is_empty());
}

/// The step that runs comes to its end, and no other begins.
#[tokio::test(start_paused = true)]
async fn a_draining_process_hands_a_turn_over_after_its_step() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["sleeps"]);
    let turn = RunningTurn::new(&request);
    let responses = vec![response(&[sleeps(100)]), response(&[text("Done.")])];
    let replying = turn.reply(request.clone(), responses);
    let drain = async {
        sleep(Duration::from_millis(50)).await;
        turn.is_draining.store(true, Ordering::SeqCst);
    };
    let (ended, ()) = tokio::join!(replying, drain);
    assert!(ended.is_none(), "{ended:?}");
    assert!(turn.ownership.live.is_interrupted());
    assert_eq!(*turn.store.writes.lock(), [(2, 0), (0, 1)]);

    // A reply without calls is one step.
    let turn = RunningTurn::new(&request);
    turn.is_draining.store(true, Ordering::SeqCst);
    let ended = turn.reply(request, vec![response(&[text("Well.")])]).await;
    assert_eq!(ended.unwrap().reply.unwrap().content, "Well.");
}
