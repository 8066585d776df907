//! Tests of turns that go on after their process has died.

use std::{sync::Arc, time::Duration};

use contract::fixture;
use domain::{
    Action, ActionNeeded, Approver, CallDecision, ModelResponse, Repetition, Resumption, ToolCall,
    ToolEnd, ToolStep, TurnStep, Wait,
};
use ports::{ModelRequest, ToolHints};
use serde_json::Value;

use super::{
    fixture::{FakeTools, READ_ONLY, call, hint, request_with, response, text},
    journal_store::{Ended, RunningTurn},
};

/// The journal of a turn of `request` whose process died during a round of these calls: each a tool, what
/// a second call of it would do, and its status if it had ended.
fn lost_round(request: &ModelRequest, calls: &[(&str, Repetition, Option<&str>)]) -> Vec<TurnStep> {
    let response = ModelResponse {
        engine: "model".to_owned(),
        model: None,
        text: "Let me look.".to_owned(),
        state: None,
        requests: Vec::new(),
        is_draft: false,
        reasoning: None,
    };
    let mut journal = vec![TurnStep::Model(response)];
    for ((name, repetition, status), number) in calls.iter().zip(1..) {
        let end = |status: &str| ToolEnd::new(status, "before".to_owned(), Duration::ZERO);
        journal.push(TurnStep::Tool(ToolStep {
            call_id: format!("{}-{number}", request.turn_id),
            name: (*name).to_owned(),
            function: (*name).to_owned(),
            arguments: r#"{"ms": 5}"#.to_owned(),
            at: "Let me look.".len(),
            visibility: None,
            repetition: *repetition,
            wait: None,
            timeout_ms: Some(15_000),
            end: status.map(end),
        }));
    }
    let resumption = Resumption::after(&journal, true);
    journal.push(TurnStep::Resumed(resumption));
    journal
}

/// Resumes the turn, whose model answers at once.
async fn resume(request: &ModelRequest, journal: &[TurnStep]) -> (RunningTurn, Ended) {
    let turn = RunningTurn::resumed(request, journal);
    let responses = vec![response(&[text("Done.")])];
    let ended = turn.reply(request.clone(), responses).await;
    let ended = ended.expect("it was not stopped");
    let reply = ended.reply.as_ref().expect("a reply");
    assert_eq!(reply.content, "Let me look.\n\nDone.");
    assert_eq!(ended.requests.len(), 1);
    (turn, ended)
}

/// The statuses that the model reads.
fn read_by_model(ended: &Ended) -> Vec<String> {
    let calls = ended.requests[0].steps.iter().flat_map(|step| &step.calls);
    let statuses = calls.map(|call| {
        let answer: Value = serde_json::from_str(&call.answer()).unwrap();
        answer["status"].as_str().unwrap().to_owned()
    });
    statuses.collect()
}

#[tokio::test(start_paused = true)]
async fn calls_that_have_ended_are_not_made_again() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["time"]);
    let calls = [
        ("time", Repetition::Acts, Some("ok")),
        ("time", Repetition::Harmless, Some("failed")),
    ];
    let (turn, ended) = resume(&request, &lost_round(&request, &calls)).await;
    assert!(fake_tools.calls().is_empty());
    assert_eq!(ended.statuses(), [("time", "ok"), ("time", "failed")]);
    assert_eq!(read_by_model(&ended), ["ok", "failed"]);
    assert!(turn.store.writes.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_acts_is_not_made_again_and_its_outcome_is_unknown() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let mut request = request_with(&fake_tools, &["time"]);
    // The record of the call decides, even if the tool is described otherwise now.
    hint(&mut request, "time", READ_ONLY);
    let calls = [("time", Repetition::Acts, None)];
    let (turn, ended) = resume(&request, &lost_round(&request, &calls)).await;
    assert!(fake_tools.calls().is_empty());
    assert_eq!(ended.statuses(), [("time", ToolCall::OUTCOME_UNKNOWN)]);
    let answer = ended.requests[0].steps[0].calls[0].answer();
    assert!(
        answer.contains("It may or may not have taken effect."),
        "{answer}"
    );
    assert_eq!(*turn.store.writes.lock(), [(0, 1)]);
    let entries = turn.store.entries.lock();
    assert!(entries.iter().all(TurnStep::has_ended));
}

#[tokio::test(start_paused = true)]
async fn a_harmless_call_is_made_again_with_its_id() {
    for repetition in [Repetition::Harmless, Repetition::HarmlessWithId] {
        let fake_tools: Arc<FakeTools> = Arc::default();
        let mut request = request_with(&fake_tools, &["sleeps"]);
        hint(&mut request, "sleeps", ToolHints::default());
        let calls = [("sleeps", repetition, None)];
        let mut journal = lost_round(&request, &calls);
        for attempt in [2, 3] {
            let (turn, ended) = resume(&request, &journal).await;
            assert_eq!(ended.statuses(), [("sleeps", "ok")]);
            let contexts = fake_tools.contexts.lock();
            let context = contexts.last().unwrap();
            assert_eq!(context.call_id, format!("{}-1", request.turn_id));
            assert_eq!(
                (context.attempt, contexts.len()),
                (attempt, attempt as usize - 1)
            );
            assert_eq!(*turn.store.writes.lock(), [(0, 1)]);
            journal.push(TurnStep::Resumed(Resumption::after(&journal, true)));
        }
    }
}

/// Until then nothing was started: what died before had only stored the approval.
#[tokio::test(start_paused = true)]
async fn the_attempts_of_an_approved_call_count_from_its_beginning() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["sleeps"]);
    let mut journal = lost_round(&request, &[("sleeps", Repetition::Harmless, None)]);
    let TurnStep::Tool(call) = &mut journal[1] else {
        panic!("{journal:?}");
    };
    call.wait = Some(Box::new(Wait {
        needs: ActionNeeded::Approval,
        approver: Some(Approver::User),
        expires_at: fixture::at(60),
        decision: Some(CallDecision {
            action: Action::Approve,
            by: fixture::principal(),
            at: fixture::at(0),
            continuation: None,
        }),
        has_begun: false,
        resumptions_before: 0,
    }));
    let (turn, ended) = resume(&request, &journal).await;
    assert_eq!(ended.statuses(), [("sleeps", "ok")]);
    assert_eq!(fake_tools.contexts.lock()[0].attempt, 1);
    // Its process dies before the end is stored.
    let mut journal = turn.store.entries.lock().clone();
    let TurnStep::Tool(call) = &mut journal[1] else {
        panic!("{journal:?}");
    };
    call.end = None;
    journal.push(TurnStep::Resumed(Resumption::after(&journal, true)));
    resume(&request, &journal).await;
    assert_eq!(fake_tools.contexts.lock()[1].attempt, 2);
}

/// Each call of a round has its own fate.
#[tokio::test(start_paused = true)]
async fn a_round_is_finished_call_by_call() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["time", "sleeps"]);
    let calls = [
        ("time", Repetition::Acts, Some("ok")),
        ("time", Repetition::Acts, None),
        ("sleeps", Repetition::Harmless, None),
        ("time", Repetition::Harmless, Some("timed_out")),
        ("gone", Repetition::Harmless, None),
    ];
    let (turn, ended) = resume(&request, &lost_round(&request, &calls)).await;
    let unknown = ToolCall::OUTCOME_UNKNOWN;
    let expected = ["ok", unknown, "ok", "timed_out", unknown];
    assert_eq!(read_by_model(&ended), expected);
    let shown: Vec<_> = ended.calls.iter().map(|call| &*call.status).collect();
    assert_eq!(shown, expected);
    let made: Vec<_> = fake_tools
        .calls()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(made, ["sleeps"]);
    assert_eq!(*turn.store.writes.lock(), [(0, 2), (0, 1)]);
}

/// Ids, limits and positions count what happened before.
#[tokio::test(start_paused = true)]
async fn later_rounds_follow_those_of_the_journal() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let mut request = request_with(&fake_tools, &["time"]);
    Arc::make_mut(&mut request.agent).config.max_tool_calls = Some(3);
    let ended = ("time", Repetition::Acts, Some("ok"));
    let journal = lost_round(&request, &[ended, ended]);
    let turn = RunningTurn::resumed(&request, &journal);
    let responses = vec![
        response(&[text("Once more."), call("time", "{}"), call("time", "{}")]),
        response(&[text("Done.")]),
    ];
    let replied = turn.reply(request.clone(), responses).await.unwrap();
    let expected = "Let me look.\n\nOnce more.\n\nDone.";
    assert_eq!(replied.reply.as_ref().unwrap().content, expected);
    let statuses: Vec<_> = replied.calls.iter().map(|call| &*call.status).collect();
    assert_eq!(statuses, ["ok", "ok", "ok", "too_many"]);
    let contexts = fake_tools.contexts.lock();
    assert_eq!(contexts.len(), 1);
    assert_eq!(contexts[0].call_id, format!("{}-3", request.turn_id));
    assert_eq!(contexts[0].attempt, 1);
    assert_eq!(replied.calls[2].at, "Let me look.\n\nOnce more.".len());
    let steps: Vec<_> = replied.requests.iter().map(|it| it.steps.len()).collect();
    assert_eq!(steps, [1, 2]);
    assert_eq!(*turn.store.writes.lock(), [(3, 0), (0, 1)]);
    assert!(!replied.requests[1].may_call);
}

/// Another engine could not read what the first one has kept.
#[tokio::test(start_paused = true)]
async fn a_turn_fails_if_its_engine_is_gone() {
    let fake_tools: Arc<FakeTools> = Arc::default();
    let request = request_with(&fake_tools, &["time"]);
    let mut journal = lost_round(&request, &[("time", Repetition::Acts, Some("ok"))]);
    journal[0] = TurnStep::Model(ModelResponse {
        engine: "old".to_owned(),
        ..ModelResponse::default()
    });
    let turn = RunningTurn::resumed(&request, &journal);
    let responses = vec![response(&[text("Done.")])];
    let ended = turn.reply(request, responses).await.unwrap();
    let code = ended.reply.map_err(|problem| problem.code);
    assert_eq!(code.unwrap_err(), domain::ProblemCode::EngineFailed);
    assert!(ended.requests.is_empty());
}
