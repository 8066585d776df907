//! Tool calls that wait for staff: `AnswerTurn` and the turns that it begins.

use std::time::Duration;

use domain::{
    Action, ActionNeeded, Approver, Audience, FinishReason, Timestamp, ToolVisibility, TurnId,
    TurnStep, Unanswered, turn_step::tool_calls,
};
use ports::WaitingFor;
use writes::{
    AnswerOutcome, AnswerRejection, BeginTurn, CancelOutcome, MayAnswer, NotStaff, Reply,
    SuspendOutcome, Sweep, TurnEnding,
};

use crate::{
    Store,
    dead_nodes::{run_sweep, sweep, sweeper, two_nodes},
    fixture, lookup,
    results::ResultExt as _,
    setup,
    turn_scans::{self, waiting_for},
    waiting_turns::{
        answer, answer_as, call, existing, far, record, resumed, statuses, suspend, wait,
    },
};

fn staff_call(id: &str, expires_at: Timestamp) -> TurnStep {
    let TurnStep::Tool(mut step) = call(id, ActionNeeded::Approval, expires_at) else {
        unreachable!()
    };
    if let Some(wait) = &mut step.wait {
        wait.approver = Some(Approver::Staff);
    }
    TurnStep::Tool(step)
}

/// Turn 1 has completed; its call waits for staff until this time.
pub(crate) async fn undecided(storage: &Store, expires_at: Timestamp) -> BeginTurn {
    completed_with(storage, staff_call("1", expires_at)).await
}

/// Turn 1 has completed with this call.
pub(crate) async fn completed_with(storage: &Store, call: TurnStep) -> BeginTurn {
    let calls = [call];
    let begin = runs_with(storage, &calls).await;
    let reply = Reply {
        tool_calls: tool_calls(&calls, Unanswered::Dismissed),
        ..fixture::reply(1)
    };
    let finish = fixture::finish(&begin, TurnEnding::Completed(reply));
    setup::finish_turn(storage, finish).await;
    begin
}

/// A user, who may not decide for staff.
const USER: MayAnswer = MayAnswer {
    for_user: true,
    for_staff: Err(NotStaff::Scope),
    audience: Audience::User,
};

async fn waiting_for_staff(storage: &Store) -> Vec<TurnId> {
    turn_scans::ids(storage, &waiting_for(WaitingFor::Staff), 10).await
}

/// A call that waits for staff, and is hidden from users.
pub(crate) fn hidden_call() -> TurnStep {
    let TurnStep::Tool(mut hidden) = staff_call("1", far()) else {
        unreachable!()
    };
    hidden.visibility = Some(ToolVisibility::Hidden);
    TurnStep::Tool(hidden)
}

/// To users, a call that they do not see does not exist.
pub async fn a_hidden_call_is_not_found(storage: &Store) {
    let begin = completed_with(storage, hidden_call()).await;
    let rejected = answer_as(storage, &begin, &[("1", Action::Approve)], USER).await;
    let reason = AnswerRejection::NotFound;
    assert_eq!(rejected, AnswerOutcome::Rejected { index: 0, reason });
}

/// A call that waits for staff does not hold its turn. The decision begins another turn, whose journal
/// begins with the call.
pub async fn a_decision_of_staff_begins_another_turn(storage: &Store) {
    let begin = undecided(storage, far()).await;
    assert_eq!(statuses(storage, &begin).await, ["waiting"]);
    assert_eq!(waiting_for_staff(storage).await, [begin.turn_id]);
    let approve = [("1", Action::Approve)];
    let rejected = answer_as(storage, &begin, &approve, USER).await;
    let reason = AnswerRejection::NotForStaff(NotStaff::Scope);
    assert_eq!(rejected, AnswerOutcome::Rejected { index: 0, reason });
    let report = resumed(answer(storage, &begin, &approve).await).expect("it runs at once");
    let continued = report.turn.continues.clone().expect("the call");
    assert_eq!(
        (continued.turn_id, continued.call_id.as_deref()),
        (begin.turn_id, Some("1"))
    );
    let [TurnStep::Model(_), TurnStep::Tool(carried)] = &report.journal[..] else {
        panic!("{:?}", report.journal)
    };
    assert_eq!((carried.call_id.as_str(), &carried.end), ("1", &None));
    assert_eq!(
        lookup::journal(storage, report.turn.id).await,
        report.journal
    );
    assert_eq!(statuses(storage, &begin).await, ["approved"]);
    assert_eq!(waiting_for_staff(storage).await, []);
    let again = answer(storage, &begin, &approve).await;
    let continuation = Some(report.turn.id);
    assert_eq!(again, AnswerOutcome::Repeated { continuation });
    let finish = fixture::finish(
        &BeginTurn {
            turn_id: report.turn.id,
            node: sweeper(),
            ..begin.clone()
        },
        TurnEnding::Completed(fixture::reply(2)),
    );
    setup::finish_turn(storage, finish).await;
    let messages = lookup::messages(storage, begin.target.id()).await;
    let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(
        (seqs, messages[2].content.as_str()),
        (vec![1, 2, 3], "Reply 2")
    );
}

/// A decision while another turn waits or runs is queued, without a time limit, and dismisses no question.
pub async fn a_decision_of_staff_waits_for_the_turn_before(storage: &Store) {
    let begin = undecided(storage, far()).await;
    let next = BeginTurn {
        target: existing(&begin),
        turn_id: fixture::turn_id(2),
        message_id: fixture::message_id(10),
        reply_id: fixture::message_id(11),
        ..begin.clone()
    };
    setup::start_turn(storage, &next).await;
    let denied = Action::Deny { reason: None };
    let outcome = answer(storage, &begin, &[("1", denied)]).await;
    let AnswerOutcome::Stored {
        resumed: None,
        continuation: Some(id),
        ..
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    let calls = [call("9", ActionNeeded::Approval, far())];
    record(storage, &next, &calls).await;
    wait(storage, &next, &calls).await;
    let hasty = Sweep {
        max_wait: Duration::ZERO,
        ..sweep()
    };
    assert_eq!(run_sweep(storage, &hasty).await.failed, []);
    let stamp = fixture::stamp(700);
    let cancel =
        storage
            .turns
            .cancel_turn(&next.tenant, next.turn_id, None, Some(sweeper()), &stamp);
    let CancelOutcome::Cancelled { promoted, .. } = cancel.await.success() else {
        panic!("it waited")
    };
    let promoted = promoted.expect("the continuation");
    assert_eq!(promoted.turn.id, id);
    let [_, TurnStep::Tool(carried)] = &promoted.journal[..] else {
        panic!("{:?}", promoted.journal)
    };
    assert_eq!(
        carried.end.as_ref().map(|end| end.status.as_str()),
        Some("denied")
    );
}

/// A continuation that is cancelled before it begins has the call that staff has decided.
pub async fn a_cancelled_continuation_has_its_call(storage: &Store) {
    let begin = asks_user_and_staff(storage, far()).await;
    let mut continuations = Vec::new();
    for call in ["1", "3"] {
        let outcome = answer(storage, &begin, &[(call, Action::Approve)]).await;
        let AnswerOutcome::Stored { continuation, .. } = outcome else {
            panic!("{outcome:?}")
        };
        continuations.push((continuation.expect("a turn"), call));
    }
    for (id, call) in continuations.into_iter().rev() {
        let (turns, stamp) = (&storage.turns, fixture::stamp(700));
        let cancel = turns.cancel_turn(&begin.tenant, id, None, None, &stamp);
        cancel.await.success();
        let turn = lookup::turn(storage, id).await.expect("the turn is kept");
        let calls: Vec<_> = turn.tool_calls.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(calls, [call]);
    }
}

/// A sweep reports calls that nobody has decided in time, unless their reply is superseded or their
/// conversation deleted.
pub async fn a_sweep_reports_undecided_calls(storage: &Store) {
    let begin = undecided(storage, fixture::at(550)).await;
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(swept.undecided.len(), 1);
    assert_eq!(swept.undecided[0].call_id, "1");
    let late = answer(storage, &begin, &[("1", Action::Approve)]).await;
    let reason = AnswerRejection::Expired;
    assert_eq!(late, AnswerOutcome::Rejected { index: 0, reason });
    let expired = resumed(answer(storage, &begin, &[("1", Action::Expire)]).await);
    assert!(expired.is_some());
    assert_eq!(statuses(storage, &begin).await, ["expired"]);
    assert_eq!(run_sweep(storage, &sweep()).await.undecided, []);
}

/// The deletion of a conversation dismisses its calls that wait for staff.
pub async fn a_deletion_dismisses_undecided_calls(storage: &Store) {
    let begin = undecided(storage, fixture::at(550)).await;
    let conversation = lookup::conversation(storage, begin.target.id()).await;
    setup::delete_conversation(storage, &conversation.expect("it exists")).await;
    let needed = storage.sweep.tenants_to_sweep(sweep().max_wait).await;
    assert_eq!(needed.success(), []);
    assert_eq!(waiting_for_staff(storage).await, []);
}

/// Turn 1 runs, with a call that waits for staff (`1`) and one that waits for the user (`2`).
pub(crate) async fn asked_both(storage: &Store) -> (BeginTurn, [TurnStep; 2]) {
    let calls = [
        staff_call("1", fixture::at(550)),
        call("2", ActionNeeded::Approval, far()),
    ];
    (runs_with(storage, &calls).await, calls)
}

/// Turn 1 runs, with these calls.
async fn runs_with(storage: &Store, calls: &[TurnStep]) -> BeginTurn {
    let agent = two_nodes(storage).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    record(storage, &begin, calls).await;
    begin
}

/// A turn goes on with the last answer of its user, while staff has not decided yet.
pub async fn a_turn_does_not_wait_for_staff(storage: &Store) {
    let (begin, calls) = asked_both(storage).await;
    wait(storage, &begin, &calls).await;
    let resumed = resumed(answer(storage, &begin, &[("2", Action::Approve)]).await);
    assert!(resumed.is_some());
}

/// A queued message dismisses the calls that wait for the user, and no others.
pub async fn a_queued_message_dismisses_no_call_of_staff(storage: &Store) {
    let (begin, calls) = asked_both(storage).await;
    let queued = BeginTurn {
        target: existing(&begin),
        turn_id: fixture::turn_id(2),
        message_id: fixture::message_id(10),
        reply_id: fixture::message_id(11),
        ..begin.clone()
    };
    setup::queue_turn(storage, &queued).await;
    let suspended = storage
        .writes
        .write(suspend(&begin, &calls))
        .await
        .success();
    assert!(
        matches!(suspended, SuspendOutcome::Dismissed { .. }),
        "{suspended:?}"
    );
    assert_eq!(statuses(storage, &begin).await, ["waiting", "dismissed"]);
    assert_eq!(waiting_for_staff(storage).await, [begin.turn_id]);
}

/// The calls of a turn that is cancelled while it runs wait for nobody.
pub async fn a_cancellation_ends_calls_of_staff(storage: &Store) {
    let (begin, _) = asked_both(storage).await;
    let stamp = fixture::stamp(700);
    let cancel = storage
        .turns
        .cancel_turn(&begin.tenant, begin.turn_id, None, None, &stamp);
    cancel.await.success();
    assert_eq!(statuses(storage, &begin).await, ["cancelled", "cancelled"]);
    assert_eq!(waiting_for_staff(storage).await, []);
}

/// Turn 1 waits for its user (`2`), and for staff: `1`, and `3` until this time.
async fn asks_user_and_staff(storage: &Store, expires_at: Timestamp) -> BeginTurn {
    let calls = [
        staff_call("1", far()),
        call("2", ActionNeeded::Approval, far()),
        staff_call("3", expires_at),
    ];
    let begin = runs_with(storage, &calls).await;
    wait(storage, &begin, &calls).await;
    begin
}

/// While a turn waits for its user, a decision of staff does not change how long it does.
pub async fn a_decision_of_staff_leaves_questions_to_the_user(storage: &Store) {
    let begin = asks_user_and_staff(storage, fixture::at(650)).await;
    let outcome = answer(storage, &begin, &[("1", Action::Approve)]).await;
    assert!(
        matches!(outcome, AnswerOutcome::Stored { .. }),
        "{outcome:?}"
    );
    assert_eq!(run_sweep(storage, &sweep()).await.failed, []);
}

/// A turn that supersedes one that waits dismisses the calls of staff, too.
pub async fn an_edit_dismisses_all_calls_that_wait(storage: &Store) {
    let begin = asks_user_and_staff(storage, far()).await;
    let edit = BeginTurn {
        target: existing(&begin),
        turn_id: fixture::turn_id(2),
        message_id: fixture::message_id(10),
        reply_id: fixture::message_id(11),
        stamp: fixture::stamp(800),
        ..begin.clone()
    };
    setup::start_turn(storage, &fixture::superseding(edit, 1, 0)).await;
    assert_eq!(statuses(storage, &begin).await, ["dismissed"; 3]);
    assert_eq!(waiting_for_staff(storage).await, []);
    let late = answer(storage, &begin, &[("1", Action::Approve)]).await;
    assert!(matches!(late, AnswerOutcome::Rejected { .. }), "{late:?}");
    let messages = lookup::all_messages(storage, begin.target.id()).await;
    let reply = &messages[1];
    assert_eq!(reply.finish_reason, Some(FinishReason::Dismissed));
    assert!(reply.superseded_at.is_some());
}
