//! Batches whose first attempt may have been committed.

use domain::EventType;
use ports::{BeginOutcome, Committed, ExchangeOutcome, FinishOutcome, FinishTurn, TurnEnding};

use super::*;
use crate::EventInDoubt;

fn logged(seq: i64, kind: EventType, turn: u32) -> EventInDoubt {
    EventInDoubt {
        tenant: samples::tenant(),
        seq: Seq(seq),
        kind,
        conversation_id: Some(samples::conversation_id(1)),
        turn_id: Some(samples::turn_id(turn)),
    }
}

const fn committed(first: i64, last: i64) -> Committed {
    Committed {
        first: Seq(first),
        last: Seq(last),
    }
}

const fn recorded(first: i64, last: i64, message_seq: i64) -> Outcome {
    Outcome::Exchange(ExchangeOutcome::Recorded {
        committed: committed(first, last),
        message_seq,
    })
}

/// Turn 1 as an exchange left it.
fn exchanged(message_seq: i64) -> TurnRow {
    TurnRow {
        message_seq: Some(message_seq),
        ..turn(1, TurnStatus::Completed)
    }
}

fn finish() -> FinishTurn {
    let answer = TurnEnding::Completed(samples::reply(8));
    samples::finish(&asked(8, existing(2)), answer)
}

#[test]
fn an_exchange_that_is_stored_is_answered_as_done_and_not_as_stale() {
    let mut facts = facts();
    facts.conversation_mut().turn_count = 3;
    facts.insert_turn(exchanged(3));
    facts.logged = vec![
        logged(11, EventType::TurnStarted, 1),
        logged(12, EventType::TurnCompleted, 1),
    ];
    let exchange = samples::exchange(1, &agent(), existing(2));
    let outcome = refused(Item::Exchange(Box::new(exchange)), &facts).unwrap();
    assert_eq!(outcome, recorded(11, 12, 3));
}

#[test]
fn a_conversation_that_was_made_belongs_to_the_answer() {
    let conversation = samples::conversation(1, agent().id);
    let mut facts = facts();
    facts.insert_turn(exchanged(1));
    facts.logged = vec![
        EventInDoubt {
            turn_id: None,
            ..logged(11, EventType::ConversationCreated, 1)
        },
        logged(12, EventType::TurnStarted, 1),
        logged(13, EventType::TurnCompleted, 1),
    ];
    let exchange = samples::exchange(1, &agent(), ExchangeTarget::New(conversation));
    let outcome = refused(Item::Exchange(Box::new(exchange)), &facts).unwrap();
    assert_eq!(outcome, recorded(11, 13, 1));
}

#[test]
fn a_turn_that_runs_is_not_busy_because_of_itself() {
    let mut facts = busy_facts();
    facts.logged = vec![logged(11, EventType::TurnStarted, 8)];
    let outcome = refused(Item::Begin(Box::new(asked(8, existing(1)))), &facts).unwrap();
    let expected = BeginOutcome::Started {
        committed: committed(11, 11),
        message_seq: 4,
        turn_number: 1,
    };
    assert_eq!(outcome, Outcome::Begin(expected));
}

#[test]
fn a_turn_that_waits_is_answered_as_queued() {
    let mut facts = busy_facts();
    facts.logged = vec![logged(11, EventType::TurnQueued, 9)];
    let outcome = refused(Item::Begin(Box::new(asked(9, existing(2)))), &facts).unwrap();
    let expected = BeginOutcome::Queued(committed(11, 11));
    assert_eq!(outcome, Outcome::Begin(expected));
}

#[test]
fn a_turn_that_ended_is_answered_with_the_one_it_promoted() {
    let mut facts = busy_facts();
    facts.turn_mut(samples::turn_id(8)).turn.status = TurnStatus::Completed;
    let mut promoted = turn(9, TurnStatus::InProgress);
    promoted.message_seq = Some(6);
    facts.insert_turn(promoted);
    facts.logged = vec![
        logged(11, EventType::TurnCompleted, 8),
        logged(12, EventType::TurnStarted, 9),
    ];
    let outcome = refused(Item::Finish(Box::new(finish())), &facts).unwrap();
    let Outcome::Finish(FinishOutcome::Finished {
        committed: at,
        promoted,
    }) = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(at, committed(11, 12));
    let promoted = promoted.unwrap();
    assert_eq!(
        (promoted.turn.id, promoted.message_seq),
        (samples::turn_id(9), 6)
    );
}

#[test]
fn a_failure_that_somebody_else_wrote_is_not_this_ones_own() {
    let mut facts = busy_facts();
    let row = facts.turn_mut(samples::turn_id(8));
    row.turn.status = TurnStatus::Failed;
    row.turn.error = Some(samples::retryable_problem());
    facts.logged = vec![logged(11, EventType::TurnFailed, 8)];
    let own = FinishTurn {
        ending: TurnEnding::failed(samples::lasting_problem()),
        ..finish()
    };
    let outcome = refused(Item::Finish(Box::new(own)), &facts).unwrap();
    assert_eq!(outcome, Outcome::Finish(FinishOutcome::Refused));
}

#[test]
fn what_was_not_written_is_carried_out() {
    let mut facts = facts();
    facts.logged = vec![logged(11, EventType::TurnStarted, 70)];
    facts.heads = [(samples::tenant(), Seq(12))].into();
    let exchange = samples::exchange(1, &agent(), existing(2));
    let (rows, outcome) = carried_out(Item::Exchange(Box::new(exchange)), &facts);
    assert_eq!(events(&rows).len(), 2);
    assert_eq!(outcome, recorded(13, 14, 5));
}
