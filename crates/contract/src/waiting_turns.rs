//! Turns that wait for answers to their tool calls: `SuspendTurn` and `AnswerTurn`.

use domain::{
    Action, ActionNeeded, Audience, EventType, FinishReason, ModelResponse, ProblemCode, Timestamp,
    ToolStep, TurnStatus, TurnStep, Unanswered, Wait, admission::OnBusy, turn_step::tool_calls,
};
use writes::{
    AnswerOutcome, AnswerRejection, AnswerTurn, BeginOutcome, BeginTurn, CallAnswer, CancelOutcome,
    ConversationTarget, MayAnswer, PromotedTurn, Reply, SuspendOutcome, SuspendTurn, TurnEnding,
};

use crate::{
    Store,
    dead_nodes::{run_sweep, sweep, sweeper, two_nodes},
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

/// A time that no test reaches.
pub(crate) fn far() -> Timestamp {
    fixture::at(1_000_000_000_000)
}

pub(crate) fn call(id: &str, needs: ActionNeeded, expires_at: Timestamp) -> TurnStep {
    TurnStep::Tool(ToolStep {
        wait: Some(Box::new(Wait {
            needs,
            approver: None,
            expires_at,
            decision: None,
            has_begun: false,
            resumptions_before: 0,
        })),
        ..fixture::tool_step(id)
    })
}

fn text_so_far(calls: &[TurnStep]) -> Reply {
    Reply {
        content: "May I? ".to_owned(),
        finish_reason: FinishReason::RequiresAction,
        tool_calls: tool_calls(calls, Unanswered::Waiting),
        ..fixture::reply(1)
    }
}

pub(crate) fn suspend(begin: &BeginTurn, calls: &[TurnStep]) -> SuspendTurn {
    SuspendTurn {
        reasoning: None,
        tenant: begin.tenant.clone(),
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        node: begin.node,
        reply: text_so_far(calls),
        stamp: fixture::stamp(500),
        promote: true,
    }
}

/// Records the calls of a running turn.
pub(crate) async fn record(storage: &Store, begin: &BeginTurn, calls: &[TurnStep]) {
    let model = TurnStep::Model(ModelResponse::default());
    let steps = [model].into_iter().chain(calls.iter().cloned());
    let record = fixture::record_steps(begin, steps.enumerate().collect());
    assert!(storage.writes.write(record).await.success().is_recorded());
}

/// Starts turn 1, which waits for an approval (`1`) and an output (`2`) until this time.
pub(crate) async fn waiting(storage: &Store, expires_at: Timestamp) -> BeginTurn {
    let agent = two_nodes(storage).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let calls = [
        call("1", ActionNeeded::Approval, expires_at),
        call("2", ActionNeeded::Output, expires_at),
    ];
    record(storage, &begin, &calls).await;
    wait(storage, &begin, &calls).await;
    begin
}

/// Lets a running turn wait for answers to its calls.
pub(crate) async fn wait(storage: &Store, begin: &BeginTurn, calls: &[TurnStep]) {
    let outcome = storage.writes.write(suspend(begin, calls)).await.success();
    assert!(matches!(outcome, SuspendOutcome::Waits(_)), "{outcome:?}");
}

const EVERYTHING: MayAnswer = MayAnswer {
    for_user: true,
    for_staff: Ok(()),
    audience: Audience::Staff,
};

pub(crate) async fn answer(
    storage: &Store,
    begin: &BeginTurn,
    answers: &[(&str, Action)],
) -> AnswerOutcome {
    answer_as(storage, begin, answers, EVERYTHING).await
}

pub(crate) async fn answer_as(
    storage: &Store,
    begin: &BeginTurn,
    answers: &[(&str, Action)],
    may: MayAnswer,
) -> AnswerOutcome {
    let number: u32 = answers[0].0.parse().unwrap_or_default();
    let answers = answers.iter().map(|(id, action)| CallAnswer {
        call_id: (*id).to_owned(),
        action: action.clone(),
    });
    let answer = AnswerTurn {
        tenant: begin.tenant.clone(),
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        answers: answers.collect(),
        may,
        node: sweeper(),
        continuation: fixture::turn_id(50 + number),
        reply_id: fixture::message_id(60 + number),
        stamp: fixture::stamp(600),
    };
    storage.writes.write(answer).await.success()
}

fn output(text: &str) -> Action {
    Action::Output(text.to_owned())
}

pub(crate) fn resumed(outcome: AnswerOutcome) -> Option<Box<PromotedTurn>> {
    match outcome {
        AnswerOutcome::Stored { resumed, .. } => resumed,
        other => panic!("{other:?}"),
    }
}

/// The conversation of a turn, after that.
pub(crate) const fn existing(begin: &BeginTurn) -> ConversationTarget {
    ConversationTarget::Existing {
        id: begin.target.id(),
        turn_count: 1,
    }
}

pub(crate) async fn statuses(storage: &Store, begin: &BeginTurn) -> Vec<String> {
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    turn.tool_calls
        .into_iter()
        .map(|call| call.status)
        .collect()
}

/// A turn that waits has no node, its text so far is the agent's message, and it is the running turn of
/// its conversation. A sweep leaves it alone.
pub async fn a_turn_waits_without_a_node(storage: &Store) {
    let begin = waiting(storage, far()).await;
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(turn.status, TurnStatus::RequiresAction);
    assert_eq!((turn.finished_at, turn.error), (None, None));
    assert_eq!(statuses(storage, &begin).await, ["waiting", "waiting"]);
    let messages = lookup::messages(storage, begin.target.id()).await;
    let [_, reply] = &messages[..] else {
        panic!("{messages:?}")
    };
    assert_eq!(
        (reply.content.as_str(), reply.id),
        ("May I? ", begin.reply_id)
    );
    assert_eq!(reply.turn_status, Some(TurnStatus::RequiresAction));
    let context = lookup::state(storage, begin.target.id()).await;
    assert_eq!(context.running_turn, Some(begin.turn_id));
    let running = storage.sweep.in_progress_under(begin.node).await;
    assert_eq!(running.success(), []);
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!((swept.promoted.len(), swept.failed.len()), (0, 0));
    let needed = storage.sweep.tenants_to_sweep(sweep().max_wait).await;
    assert_eq!(needed.success(), []);
}

/// Answers are stored one by one, and the last one gives the turn to its node. Its end replaces the text.
pub async fn a_turn_goes_on_with_the_last_answer(storage: &Store) {
    let begin = waiting(storage, far()).await;
    let first = answer(storage, &begin, &[("2", output("done"))]).await;
    assert_eq!(resumed(first), None);
    assert_eq!(statuses(storage, &begin).await, ["waiting", "ok"]);
    let head = log::head(storage, &fixture::tenant()).await;
    let resumed = resumed(answer(storage, &begin, &[("1", Action::Approve)]).await);
    let resumed = resumed.expect("it goes on");
    let events = log::events(storage).await;
    let last = events.last().expect("an event");
    assert_eq!(
        (last.kind, last.seq),
        (EventType::TurnResumed, head.plus(1))
    );
    assert_eq!(
        resumed.journal,
        lookup::journal(storage, begin.turn_id).await
    );
    let running = storage.sweep.in_progress_under(sweeper()).await.success();
    assert_eq!(running.len(), 1);
    let TurnStep::Tool(approved) = &resumed.journal[1] else {
        panic!("{:?}", resumed.journal)
    };
    let decision = approved
        .wait
        .as_ref()
        .and_then(|wait| wait.decision.as_ref());
    let decision = decision.expect("the decision");
    assert_eq!(
        (&decision.action, decision.at),
        (&Action::Approve, fixture::at(600))
    );
    let own = BeginTurn {
        node: sweeper(),
        ..begin.clone()
    };
    let finish = fixture::finish(&own, TurnEnding::Completed(fixture::reply(1)));
    setup::finish_turn(storage, finish).await;
    let messages = lookup::messages(storage, begin.target.id()).await;
    let [_, reply] = &messages[..] else {
        panic!("{messages:?}")
    };
    assert_eq!(
        (reply.content.as_str(), reply.id),
        ("Reply 1", begin.reply_id)
    );
    assert_eq!(reply.turn_status, None);
}

/// The first answer to a call wins, also after the end of its turn; a request is stored as a whole.
pub async fn the_first_answer_wins(storage: &Store) {
    let begin = waiting(storage, far()).await;
    let rejected = |index, reason| AnswerOutcome::Rejected { index, reason };
    let unknown = answer(
        storage,
        &begin,
        &[("1", Action::Approve), ("3", output("x"))],
    )
    .await;
    assert_eq!(unknown, rejected(1, AnswerRejection::NotFound));
    let wrong = answer(storage, &begin, &[("1", output("x"))]).await;
    let needs = ActionNeeded::Approval;
    assert_eq!(wrong, rejected(0, AnswerRejection::WrongKind { needs }));
    assert_eq!(statuses(storage, &begin).await, ["waiting", "waiting"]);
    let denied = Action::Deny { reason: None };
    assert_eq!(
        resumed(answer(storage, &begin, &[("1", denied.clone())]).await),
        None
    );
    for _ in 0..2 {
        let again = answer(storage, &begin, &[("1", denied.clone())]).await;
        assert_eq!(again, AnswerOutcome::Repeated { continuation: None });
        let other = answer(storage, &begin, &[("1", Action::Approve)]).await;
        let status = "denied".to_owned();
        assert_eq!(other, rejected(0, AnswerRejection::Decided { status }));
        let stamp = fixture::stamp(700);
        let cancel = storage
            .turns
            .cancel_turn(&begin.tenant, begin.turn_id, None, None, &stamp);
        cancel.await.success();
    }
    let late = answer(storage, &begin, &[("2", output("x"))]).await;
    let AnswerOutcome::Rejected { reason, .. } = late else {
        panic!("{late:?}")
    };
    assert!(
        matches!(reason, AnswerRejection::Decided { .. }),
        "{reason:?}"
    );
}

/// A call cannot be answered from its time on. A sweep then fails the turn.
pub async fn a_turn_that_nobody_answers_expires(storage: &Store) {
    let begin = waiting(storage, fixture::at(550)).await;
    let late = answer(storage, &begin, &[("1", Action::Approve)]).await;
    let reason = AnswerRejection::Expired;
    assert_eq!(late, AnswerOutcome::Rejected { index: 0, reason });
    let needed = storage.sweep.tenants_to_sweep(sweep().max_wait).await;
    assert_eq!(needed.success(), [fixture::tenant()]);
    let swept = run_sweep(storage, &sweep()).await;
    assert_eq!(swept.failed, [begin.turn_id]);
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    let code = turn.error.as_ref().map(|error| error.code);
    assert_eq!(
        (turn.status, code),
        (TurnStatus::Failed, Some(ProblemCode::ActionExpired))
    );
    assert_eq!(statuses(storage, &begin).await, ["expired", "expired"]);
}

/// A new message completes the turn that waits, and begins at once, unless it may not.
pub async fn a_new_message_dismisses_a_waiting_turn(storage: &Store) {
    let begin = waiting(storage, far()).await;
    assert_eq!(
        resumed(answer(storage, &begin, &[("1", Action::Approve)]).await),
        None
    );
    let next = BeginTurn {
        on_busy: OnBusy::Reject,
        target: existing(&begin),
        turn_id: fixture::turn_id(2),
        message_id: fixture::message_id(10),
        reply_id: fixture::message_id(11),
        stamp: fixture::stamp(800),
        ..begin.clone()
    };
    let rejected = storage.turns.begin_turn(next.clone()).await.success();
    assert_eq!(rejected, BeginOutcome::ActionRequired);
    let next = BeginTurn {
        on_busy: OnBusy::Queue,
        ..next
    };
    let started = storage.turns.begin_turn(next.clone()).await.success();
    assert!(
        matches!(started, BeginOutcome::Started { .. }),
        "{started:?}"
    );
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    let finish = turn.finish_reason;
    assert_eq!(
        (turn.status, finish),
        (TurnStatus::Completed, Some(FinishReason::Dismissed))
    );
    assert_eq!(statuses(storage, &begin).await, ["dismissed", "dismissed"]);
    let kinds: Vec<_> = log::events(storage).await;
    let kinds: Vec<_> = kinds.iter().rev().take(2).map(|event| event.kind).collect();
    assert_eq!(kinds, [EventType::TurnStarted, EventType::TurnCompleted]);
    assert_eq!(
        lookup::message_seqs(storage, begin.target.id()).await,
        [1, 2, 3]
    );
}

/// If a message waits already when a turn would, the turn completes at once, and the message is next.
pub async fn a_turn_does_not_wait_before_a_queued_message(storage: &Store) {
    let agent = two_nodes(storage).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let queued = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &queued).await;
    let calls = [call("1", ActionNeeded::Approval, far())];
    record(storage, &begin, &calls).await;
    let suspended = storage.writes.write(suspend(&begin, &calls));
    let suspended = suspended.await.success();
    let SuspendOutcome::Dismissed { promoted, .. } = suspended else {
        panic!("{suspended:?}")
    };
    assert_eq!(promoted.expect("the queued turn").turn.id, queued.turn_id);
    assert_eq!(statuses(storage, &begin).await, ["dismissed"]);
}

/// A waiting turn can be cancelled. Its text so far stays.
pub async fn a_waiting_turn_can_be_cancelled(storage: &Store) {
    let begin = waiting(storage, far()).await;
    let stamp = fixture::stamp(700);
    let cancel = storage
        .turns
        .cancel_turn(&begin.tenant, begin.turn_id, None, None, &stamp);
    let cancelled = cancel.await.success();
    assert!(
        matches!(cancelled, CancelOutcome::Cancelled { .. }),
        "{cancelled:?}"
    );
    assert_eq!(statuses(storage, &begin).await, ["cancelled", "cancelled"]);
    let messages = lookup::messages(storage, begin.target.id()).await;
    assert_eq!(
        messages.last().map(|it| it.content.as_str()),
        Some("May I? ")
    );
    let next = BeginTurn {
        target: existing(&begin),
        turn_id: fixture::turn_id(2),
        message_id: fixture::message_id(10),
        reply_id: fixture::message_id(11),
        ..begin
    };
    setup::start_turn(storage, &next).await;
}

/// A waiting turn ends with its conversation.
pub async fn a_waiting_turn_ends_with_its_conversation(storage: &Store) {
    let begin = waiting(storage, far()).await;
    let conversation = lookup::conversation(storage, begin.target.id()).await;
    let conversation = conversation.expect("it exists");
    setup::delete_conversation(storage, &conversation).await;
    let late = answer(storage, &begin, &[("1", Action::Approve)]).await;
    assert_eq!(late, AnswerOutcome::NotFound);
    assert_eq!(run_sweep(storage, &sweep()).await.failed, []);
}
