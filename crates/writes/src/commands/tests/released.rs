use domain::{Fingerprint, admission::OnBusy};

use super::*;
use crate::{BeginOutcome, CompletedTurn};

fn new_conversation() -> ConversationTarget {
    ConversationTarget::New(fixture::conversation(2, agent().id))
}

/// A turn with an idempotency key.
fn with_key(target: ConversationTarget) -> BeginTurn {
    BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..begin_turn(1, target)
    }
}

/// The facts after a turn of conversation 1 has released that key.
fn released_facts() -> Facts {
    let mut facts = facts();
    let (key, record) = record_of(&fixture::entry("k"));
    let released = IdempotencyRecord {
        turn_id: None,
        released_into: Some(fixture::conversation_id(1)),
        ..record
    };
    facts.idempotency.insert(key, released);
    facts
}

#[test]
fn a_repetition_that_would_begin_a_conversation_gets_the_record() {
    let facts = released_facts();
    let begin = with_key(new_conversation());
    let record = facts.idempotency.values().next().unwrap().clone();
    let outcome = rejected(&begin, &facts).unwrap();
    assert_eq!(outcome, BeginOutcome::Replayed(record.clone()));
    let completed_turn = CompletedTurn {
        begin,
        ..fixture::completed_turn(1, &agent(), new_conversation())
    };
    let outcome = rejected(&completed_turn, &facts).unwrap();
    let expected = crate::RecordTurnOutcome::Replayed(record);
    assert_eq!(outcome, expected);
}

#[test]
fn any_other_turn_takes_over_a_released_key() {
    let knows = BeginTurn {
        is_resumption: true,
        ..with_key(new_conversation())
    };
    let mut other_command = with_key(new_conversation());
    let idempotency = other_command.idempotency.as_mut().unwrap();
    idempotency.fingerprint = Fingerprint::of(&"another command");
    for begin in [knows, other_command, with_key(existing(2))] {
        let turn = begin.turn_id;
        let (rows, _) = carried_out(&begin, &released_facts());
        assert_eq!(rows.idempotency[0].turn_id, Some(turn));
        assert_eq!(rows.turns[0].turn.status, TurnStatus::InProgress);
    }
}

#[test]
fn a_key_that_was_not_released_is_a_replay_for_every_request() {
    let mut facts = facts();
    facts.idempotency.extend([record_of(&fixture::entry("k"))]);
    for is_resumption in [true, false] {
        for target in [new_conversation(), existing(2)] {
            let begin = BeginTurn {
                is_resumption,
                on_busy: OnBusy::Reject,
                ..with_key(target)
            };
            let outcome = rejected(&begin, &facts).unwrap();
            let is_repeated = matches!(outcome, BeginOutcome::Replayed(_));
            assert!(is_repeated, "{outcome:?}");
        }
    }
}
