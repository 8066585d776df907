//! Turns that go on in another process, or in the same one again.

use std::time::Duration;

use application::chat::AcceptedTurn;
use domain::{NodeId, ToolCall, TurnEvent, TurnStatus};
use scripted_engine::Script;
use uuid::Uuid;

use crate::{
    fixture::Fixture,
    process::Process,
    sweep::in_time,
    tools::{ACT, LOOK},
};

/// Sends a message in a new conversation.
async fn send(process: &Process, fixture: &Fixture, script: &Script) -> AcceptedTurn {
    let accepted = process.send(fixture, None, script).await;
    accepted
        .map_err(|error| error.to_string())
        .expect("it begins")
}

/// Waits until tools were called so often.
async fn until_called(fixture: &Fixture, times: usize) {
    let called = async {
        while fixture.tools.called().len() < times {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    in_time(called).await;
}

async fn sweep(process: &Process) {
    process
        .sweeper
        .sweep_all()
        .await
        .expect("the store answers");
}

/// The name and the status of each call.
async fn statuses(fixture: &Fixture, turn: domain::TurnId) -> Vec<(String, String)> {
    let calls = fixture.turn(turn).await.turn.tool_calls.into_iter();
    calls.map(|call| (call.name, call.status)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let expected = expected.iter();
    expected
        .map(|(name, status)| ((*name).to_owned(), (*status).to_owned()))
        .collect()
}

#[tokio::test]
async fn a_turn_that_was_lost_while_its_tools_ran_goes_on_elsewhere() {
    let fixture = Fixture::new().await;
    let first = Process::start(&fixture).await;
    fixture.tools.hold();
    let script = Script::deltas(["Done."]).calls([ACT, LOOK]);
    let accepted = send(&first, &fixture, &script).await;
    let id = accepted.turn_id;
    until_called(&fixture, 2).await;

    let second = Process::start(&fixture).await;
    fixture.tools.release(1);
    // The first process records that one of its calls has ended.
    let ended = async {
        let turn = fixture.turn(id).await;
        loop {
            let found = fixture.journal(turn.turn.id).await;
            if found.iter().filter(|step| !step.has_ended()).count() == 1 {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let journal = in_time(ended).await;
    let act_has_ended = journal[1].has_ended();
    sweep(&second).await;
    until_called(&fixture, if act_has_ended { 3 } else { 2 }).await;
    fixture.tools.release(9);
    second.tasks.close();
    in_time(second.tasks.wait()).await;
    let turn = fixture.turn(id).await.turn;
    assert_eq!(turn.status, TurnStatus::Completed);
    assert_eq!(turn.reply.expect("a reply").content, "Done.");
    let act = if act_has_ended {
        ToolCall::OK
    } else {
        ToolCall::OUTCOME_UNKNOWN
    };
    let expected = pairs(&[(ACT, act), (LOOK, ToolCall::OK)]);
    assert_eq!(statuses(&fixture, id).await, expected);
    let acts = fixture.tools.called();
    assert_eq!(acts.iter().filter(|name| *name == ACT).count(), 1);

    // The first process finds that it has lost the turn: it asks the model no more.
    first.tasks.close();
    in_time(first.tasks.wait()).await;
    assert_eq!((first.engine.asked(), second.engine.asked()), (1, 1));
    let chatted = in_time(accepted.reply()).await.expect("its waiter follows");
    assert_eq!(chatted.reply.message, "Done.");
}

#[tokio::test]
async fn a_harmless_call_is_made_again_with_its_id() {
    let fixture = Fixture::new().await;
    let first = Process::start(&fixture).await;
    fixture.tools.hold();
    let script = Script::deltas(["Done."]).calls([LOOK]);
    let accepted = send(&first, &fixture, &script).await;
    until_called(&fixture, 1).await;
    let second = Process::start(&fixture).await;
    sweep(&second).await;
    until_called(&fixture, 2).await;
    let call = format!("{}-1", accepted.turn_id);
    assert_eq!(fixture.tools.attempts(), [(call.clone(), 1), (call, 2)]);
    fixture.tools.release(2);
    let chatted = in_time(accepted.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Done.");
    let expected = pairs(&[(LOOK, ToolCall::OK)]);
    assert_eq!(statuses(&fixture, chatted.reply.turn_id).await, expected);
}

/// The journal has it up to the last calls, as for text.
#[tokio::test]
async fn a_lost_turn_goes_on_with_the_reasoning_so_far() {
    let fixture = Fixture::new().await;
    let first = Process::start(&fixture).await;
    fixture.tools.hold();
    let script = Script::deltas(["Done."]).calls([LOOK]).reasoning("Hm.");
    let accepted = send(&first, &fixture, &script).await;
    let id = accepted.turn_id;
    until_called(&fixture, 1).await;
    let second = Process::start(&fixture).await;
    sweep(&second).await;
    until_called(&fixture, 2).await;
    fixture.tools.release(2);
    let mut events = accepted.events();
    let mut reasoning = String::new();
    while let Some(event) = in_time(events.next()).await {
        if let TurnEvent::Reasoning(delta) = event.expect("the store answers") {
            reasoning.truncate(delta.from);
            assert_eq!(reasoning.len(), delta.from);
            reasoning.push_str(&delta.text);
        }
    }
    assert_eq!(reasoning, "Hm.\n\nHm.");
    let stored = fixture.turn(id).await.turn.reasoning;
    assert_eq!(stored.expect("reasoning").text, reasoning);
}

/// Its lease expired, so that it has another node id, and it takes its own turns back.
#[tokio::test]
async fn a_turn_goes_on_in_the_process_that_has_lost_its_lease() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let script = Script::deltas(["Well."]).gate("end");
    let accepted = send(&process, &fixture, &script).await;
    in_time(process.engine.until_open_streams(1)).await;
    for round in 1..=3 {
        let another = NodeId::new(Uuid::from_u128(round));
        process.live.interrupt_of_earlier_nodes(|| another);
        in_time(process.engine.until_open_streams(0)).await;
        let unowned = async {
            let running = || fixture.storage.sweep.in_progress_under(process.node.id());
            while !running().await.expect("the store answers").is_empty() {
                tokio::task::yield_now().await;
            }
        };
        in_time(unowned).await;
        let live = process.live.get(accepted.turn_id).expect("it is awaited");
        assert!(!live.is_over());
        sweep(&process).await;
        in_time(process.engine.until_open_streams(1)).await;
    }
    process.engine.open("end");
    let chatted = in_time(accepted.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Well.");
    assert_eq!(process.engine.asked(), 4);
}

/// Readers in the process that has lost a turn follow it, since it is not over.
#[tokio::test]
async fn a_turn_that_another_process_has_taken_is_not_over() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let script = Script::deltas(["Well."]).gate("end");
    let accepted = send(&process, &fixture, &script).await;
    in_time(process.engine.until_open_streams(1)).await;
    let other = Process::start(&fixture).await;
    sweep(&other).await;
    in_time(other.engine.until_open_streams(1)).await;
    process.engine.open("end");
    process.tasks.close();
    in_time(process.tasks.wait()).await;
    let live = process.live.get(accepted.turn_id).expect("it is awaited");
    assert!(!live.is_over() && live.local_node().is_none());
    let status = fixture.turn(accepted.turn_id).await.turn.status;
    assert_eq!(status, TurnStatus::InProgress, "its end was rejected");
    other.engine.open("end");
    let chatted = in_time(accepted.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Well.");
    assert!(live.is_over());
}

/// Each step that a process ends makes the next loss count from the start.
#[tokio::test]
async fn a_turn_survives_any_number_of_losses_with_progress() {
    let fixture = Fixture::new().await;
    fixture.tools.hold();
    let mut script = Script::deltas(["Done."]);
    for _ in 0..4 {
        script = script.calls([LOOK]);
    }
    let first = Process::start(&fixture).await;
    let id = send(&first, &fixture, &script).await.turn_id;
    let mut processes = vec![first];
    for round in 1..=4 {
        // The last process calls, and the next one again.
        until_called(&fixture, 2 * round - 1).await;
        let next = Process::start(&fixture).await;
        sweep(&next).await;
        until_called(&fixture, 2 * round).await;
        fixture.tools.release(2);
        processes.push(next);
    }
    let last = processes.pop().expect("a process");
    last.tasks.close();
    in_time(last.tasks.wait()).await;
    let turn = fixture.turn(id).await.turn;
    assert_eq!(turn.reply.expect("a reply").content, "Done.");
    let expected = pairs(&[(LOOK, ToolCall::OK); 4]);
    assert_eq!(statuses(&fixture, id).await, expected);
}
