//! Tests of batches whose first attempt may have been committed.

use domain::EventType;
use ports::write_store::EventInDoubt;

use super::*;
use crate::{
    BeginOutcome, CancelOutcome, FinishOutcome, FinishTurn, PromotedTurn, RecordTurnOutcome,
    TurnEnding,
    commands::{CancelTurn, FailQueuedTurn},
};

fn logged(seq: i64, kind: EventType, turn: u32) -> EventInDoubt {
    EventInDoubt {
        tenant: fixture::tenant(),
        seq: Seq(seq),
        kind,
        stamp: fixture::stamp(1),
        agent_id: Some(agent().id),
        conversation_id: Some(fixture::conversation_id(1)),
        turn_id: Some(fixture::turn_id(turn)),
    }
}

const fn recorded(first: i64, last: i64, messages: TurnMessages) -> RecordTurnOutcome {
    RecordTurnOutcome::Recorded {
        committed: committed(first, last),
        messages,
    }
}

/// Turn 1, completed.
fn stored_turn(message_seq: i64, turn_number: i64) -> TurnRow {
    TurnRow {
        message_seq: Some(message_seq),
        turn_number: Some(turn_number),
        reply_seq: Some(message_seq + 1),
        ..turn(1, TurnStatus::Completed)
    }
}

/// The facts after turn 8 has ended and turn 9 has started.
fn facts_after_promotion(status: TurnStatus, ended: EventType) -> Facts {
    let mut facts = busy_facts();
    facts.turn_mut(fixture::turn_id(8)).turn.status = status;
    let mut promoted = turn(9, TurnStatus::InProgress);
    promoted.message_seq = Some(6);
    facts.insert_turn(promoted);
    facts.conversation_mut().running = Some(fixture::turn_id(9));
    facts.conversation_mut().waiting = 0;
    facts.conversation_mut().first_waiting = None;
    facts.logged = vec![logged(11, ended, 8), logged(12, EventType::TurnStarted, 9)];
    facts
}

fn finish() -> FinishTurn {
    let ending = TurnEnding::Completed(fixture::reply(8));
    fixture::finish(&begin_turn(8, existing(2)), ending)
}

#[test]
fn a_stored_turn_is_reported_as_recorded_and_not_as_stale() {
    let mut facts = facts();
    facts.conversation_mut().turn_count = 3;
    facts.insert_turn(stored_turn(3, 2));
    facts.logged = vec![
        logged(11, EventType::TurnStarted, 1),
        logged(12, EventType::TurnCompleted, 1),
    ];
    let completed_turn = fixture::completed_turn(1, &agent(), existing(2));
    let outcome = stored(&completed_turn, &facts);
    assert_eq!(outcome, recorded(11, 12, messages(1, 3, 2)));
}

#[test]
fn the_event_of_a_created_conversation_belongs_to_the_outcome() {
    let conversation = fixture::conversation(1, agent().id);
    let mut facts = facts();
    facts.insert_turn(stored_turn(1, 0));
    facts.logged = vec![
        EventInDoubt {
            turn_id: None,
            ..logged(11, EventType::ConversationCreated, 1)
        },
        logged(12, EventType::TurnStarted, 1),
        logged(13, EventType::TurnCompleted, 1),
    ];
    let completed_turn =
        fixture::completed_turn(1, &agent(), ConversationTarget::New(conversation));
    let outcome = stored(&completed_turn, &facts);
    assert_eq!(outcome, recorded(11, 13, messages(1, 1, 0)));
}

#[test]
fn a_stored_running_turn_does_not_make_its_own_repetition_busy() {
    let mut facts = busy_facts();
    facts.logged = vec![logged(11, EventType::TurnStarted, 8)];
    let outcome = stored(&begin_turn(8, existing(1)), &facts);
    let expected = BeginOutcome::Started {
        committed: committed(11, 11),
        messages: messages(8, 4, 1),
    };
    assert_eq!(outcome, expected);
}

#[test]
fn a_stored_queued_turn_is_reported_as_queued() {
    let mut facts = busy_facts();
    facts.logged = vec![logged(11, EventType::TurnQueued, 9)];
    let outcome = stored(&begin_turn(9, existing(2)), &facts);
    let expected = BeginOutcome::Queued(committed(11, 11));
    assert_eq!(outcome, expected);
}

#[test]
fn a_stored_end_is_reported_with_the_turn_that_it_started() {
    let facts = facts_after_promotion(TurnStatus::Completed, EventType::TurnCompleted);
    let outcome = stored(&finish(), &facts);
    let FinishOutcome::Finished {
        committed: at,
        promoted,
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(at, committed(11, 12));
    let promoted = promoted.unwrap();
    assert_eq!(
        (promoted.turn.id, promoted.messages.message.seq),
        (fixture::turn_id(9), 6)
    );
}

#[test]
fn a_failure_that_a_sweep_wrote_is_not_taken_for_the_own_one() {
    let mut facts = busy_facts();
    let row = facts.turn_mut(fixture::turn_id(8));
    row.turn.status = TurnStatus::Failed;
    row.turn.error = Some(fixture::retryable_problem());
    facts.logged = vec![logged(11, EventType::TurnFailed, 8)];
    let own = FinishTurn {
        ending: TurnEnding::failed(fixture::lasting_problem()),
        ..finish()
    };
    let (rows, outcome) = not_stored(&own, &facts);
    assert_eq!(rows, Rows::default());
    assert_eq!(outcome.unwrap(), FinishOutcome::NotOwned);
}

#[test]
fn a_write_that_was_not_stored_is_planned() {
    let mut facts = facts();
    facts.logged = vec![logged(11, EventType::TurnStarted, 70)];
    facts.heads = [(fixture::tenant(), Seq(12))].into();
    let completed_turn = fixture::completed_turn(1, &agent(), existing(2));
    let (rows, outcome) = not_stored(&completed_turn, &facts);
    assert_eq!(events(&rows).len(), 2);
    assert_eq!(outcome.unwrap(), recorded(13, 14, messages(1, 5, 2)));
}

/// The cancellation of turn 8 with the stamp of the stored events.
fn cancel() -> CancelTurn {
    CancelTurn {
        reasoning: None,
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(8),
        conversation_id: fixture::conversation_id(1),
        partial: None,
        node: Some(fixture::node_id(1)),
        stamp: fixture::stamp(1),
    }
}

/// The failure of turn 9 with the stamp of the stored events.
fn fail_queued() -> FailQueuedTurn {
    FailQueuedTurn {
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(9),
        conversation_id: fixture::conversation_id(1),
        problem: fixture::lasting_problem(),
        time: fixture::at(1),
    }
}

fn cancelled(outcome: CancelOutcome) -> (Committed, Option<Box<PromotedTurn>>) {
    match outcome {
        CancelOutcome::Cancelled {
            committed,
            promoted,
        } => (committed, promoted),
        other => panic!("not cancelled: {other:?}"),
    }
}

#[test]
fn a_stored_cancellation_is_reported_with_the_turn_that_it_started() {
    let facts = facts_after_promotion(TurnStatus::Cancelled, EventType::TurnCancelled);
    let (at, promoted) = cancelled(stored(&cancel(), &facts));
    assert_eq!(at, committed(11, 12));
    let promoted = promoted.unwrap();
    assert_eq!(
        (promoted.turn.id, promoted.messages.message.seq),
        (fixture::turn_id(9), 6)
    );
}

#[test]
fn a_stored_cancellation_is_reported_without_a_turn_that_it_did_not_start() {
    let after = || facts_after_promotion(TurnStatus::Cancelled, EventType::TurnCancelled);
    let mut elsewhere = after();
    elsewhere.turn_mut(fixture::turn_id(9)).node = Some(fixture::node_id(2));
    let mut ended = after();
    ended.turn_mut(fixture::turn_id(9)).turn.status = TurnStatus::Completed;
    let mut later = after();
    later.logged[1].seq = Seq(13);
    let drains = CancelTurn {
        node: None,
        ..cancel()
    };
    for (cancel, facts) in [
        (cancel(), elsewhere),
        (cancel(), ended),
        (cancel(), later),
        (drains, after()),
    ] {
        let (at, promoted) = cancelled(stored(&cancel, &facts));
        assert_eq!((at, promoted), (committed(11, 11), None));
    }
}

#[test]
fn a_cancellation_by_another_caller_is_not_taken_for_the_own_one() {
    let mut facts = facts_after_promotion(TurnStatus::Cancelled, EventType::TurnCancelled);
    facts.logged[0].stamp = fixture::stamp(2);
    let (rows, outcome) = not_stored(&cancel(), &facts);
    assert_eq!(rows, Rows::default());
    assert_eq!(outcome.unwrap(), CancelOutcome::AlreadyFinal);
}

#[test]
fn a_stored_failure_of_a_queued_turn_is_reported() {
    let mut facts = busy_facts();
    facts.turn_mut(fixture::turn_id(9)).turn.status = TurnStatus::Failed;
    facts.logged = vec![logged(11, EventType::TurnFailed, 9)];
    let outcome = stored(&fail_queued(), &facts);
    assert_eq!(outcome, Some(committed(11, 11)));
    facts.logged[0].stamp = fixture::stamp(2);
    let (rows, outcome) = not_stored(&fail_queued(), &facts);
    assert_eq!((rows, outcome.unwrap()), (Rows::default(), None));
}
