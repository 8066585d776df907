//! Tests of batches whose first attempt may have been committed.

use domain::EventType;
use ports::{BeginOutcome, Committed, FinishOutcome, FinishTurn, RecordTurnOutcome, TurnEnding};

use super::*;
use crate::EventInDoubt;

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

const fn committed(first: i64, last: i64) -> Committed {
    Committed {
        first: Seq(first),
        last: Seq(last),
    }
}

const fn recorded(first: i64, last: i64, place: TurnMessages) -> WriteOutcome {
    WriteOutcome::CompletedTurn(RecordTurnOutcome::Recorded {
        committed: committed(first, last),
        place,
    })
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

fn finish() -> FinishTurn {
    let ending = TurnEnding::Completed(fixture::reply(8));
    fixture::finish(&begin_turn(8, existing(2)), ending)
}

#[test]
fn a_stored_turn_is_reported_as_recorded_and_not_as_stale() {
    let mut facts = facts();
    facts.conversation_mut().turn_count = 3;
    facts.insert_turn(stored_turn(3, 2));
    facts.is_in_doubt = true;
    facts.logged = vec![
        logged(11, EventType::TurnStarted, 1),
        logged(12, EventType::TurnCompleted, 1),
    ];
    let completed_turn = fixture::completed_turn(1, &agent(), existing(2));
    let outcome = rejected(WriteOp::CompletedTurn(Box::new(completed_turn)), &facts).unwrap();
    assert_eq!(outcome, recorded(11, 12, place(1, 3, 2)));
}

#[test]
fn the_event_of_a_created_conversation_belongs_to_the_outcome() {
    let conversation = fixture::conversation(1, agent().id);
    let mut facts = facts();
    facts.insert_turn(stored_turn(1, 0));
    facts.is_in_doubt = true;
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
    let outcome = rejected(WriteOp::CompletedTurn(Box::new(completed_turn)), &facts).unwrap();
    assert_eq!(outcome, recorded(11, 13, place(1, 1, 0)));
}

#[test]
fn a_stored_running_turn_does_not_make_its_own_repetition_busy() {
    let mut facts = busy_facts();
    facts.is_in_doubt = true;
    facts.logged = vec![logged(11, EventType::TurnStarted, 8)];
    let outcome = rejected(WriteOp::Begin(Box::new(begin_turn(8, existing(1)))), &facts).unwrap();
    let expected = BeginOutcome::Started {
        committed: committed(11, 11),
        place: place(8, 4, 1),
    };
    assert_eq!(outcome, WriteOutcome::Begin(expected));
}

#[test]
fn a_stored_queued_turn_is_reported_as_queued() {
    let mut facts = busy_facts();
    facts.is_in_doubt = true;
    facts.logged = vec![logged(11, EventType::TurnQueued, 9)];
    let outcome = rejected(WriteOp::Begin(Box::new(begin_turn(9, existing(2)))), &facts).unwrap();
    let expected = BeginOutcome::Queued(committed(11, 11));
    assert_eq!(outcome, WriteOutcome::Begin(expected));
}

#[test]
fn a_stored_end_is_reported_with_the_turn_that_it_started() {
    let mut facts = busy_facts();
    facts.turn_mut(fixture::turn_id(8)).turn.status = TurnStatus::Completed;
    let mut promoted = turn(9, TurnStatus::InProgress);
    promoted.message_seq = Some(6);
    facts.insert_turn(promoted);
    facts.is_in_doubt = true;
    facts.logged = vec![
        logged(11, EventType::TurnCompleted, 8),
        logged(12, EventType::TurnStarted, 9),
    ];
    let outcome = rejected(WriteOp::Finish(Box::new(finish())), &facts).unwrap();
    let WriteOutcome::Finish(FinishOutcome::Finished {
        committed: at,
        promoted,
    }) = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(at, committed(11, 12));
    let promoted = promoted.unwrap();
    assert_eq!(
        (promoted.turn.id, promoted.place.message.seq),
        (fixture::turn_id(9), 6)
    );
}

#[test]
fn a_failure_that_a_sweep_wrote_is_not_taken_for_the_own_one() {
    let mut facts = busy_facts();
    let row = facts.turn_mut(fixture::turn_id(8));
    row.turn.status = TurnStatus::Failed;
    row.turn.error = Some(fixture::retryable_problem());
    facts.is_in_doubt = true;
    facts.logged = vec![logged(11, EventType::TurnFailed, 8)];
    let own = FinishTurn {
        ending: TurnEnding::failed(fixture::lasting_problem()),
        ..finish()
    };
    let outcome = rejected(WriteOp::Finish(Box::new(own)), &facts).unwrap();
    assert_eq!(outcome, WriteOutcome::Finish(FinishOutcome::NotOwned));
}

#[test]
fn a_write_that_was_not_stored_is_planned() {
    let mut facts = facts();
    facts.is_in_doubt = true;
    facts.logged = vec![logged(11, EventType::TurnStarted, 70)];
    facts.heads = [(fixture::tenant(), Seq(12))].into();
    let completed_turn = fixture::completed_turn(1, &agent(), existing(2));
    let (rows, outcome) = carried_out(WriteOp::CompletedTurn(Box::new(completed_turn)), &facts);
    assert_eq!(events(&rows).len(), 2);
    assert_eq!(outcome, recorded(13, 14, place(1, 5, 2)));
}
