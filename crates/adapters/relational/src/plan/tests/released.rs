use domain::{Fingerprint, admission::OnBusy};
use ports::{BeginOutcome, Exchange};

use super::*;

fn new_talk() -> ExchangeTarget {
    ExchangeTarget::New(samples::conversation(2, agent().id))
}

/// A question with a key.
fn claimed(target: ExchangeTarget) -> BeginTurn {
    BeginTurn {
        claim: Some(samples::claim("k")),
        ..asked(1, target)
    }
}

/// The facts in which a turn of conversation 1 has given that key back.
fn released_facts() -> Facts {
    let mut facts = facts();
    let (key, record) = used(&samples::claim("k"));
    let released = IdempotencyRecord {
        turn_id: None,
        released_into: Some(samples::conversation_id(1)),
        ..record
    };
    facts.claims.insert(key, released);
    facts
}

#[test]
fn a_repetition_that_would_make_a_conversation_is_told_of_the_one_there_is() {
    let facts = released_facts();
    let question = claimed(new_talk());
    let record = facts.claims.values().next().unwrap().clone();
    let outcome = refused(Item::Begin(Box::new(question.clone())), &facts).unwrap();
    assert_eq!(
        outcome,
        Outcome::Begin(BeginOutcome::Repeated(record.clone()))
    );
    let exchange = Exchange {
        question,
        ..samples::exchange(1, &agent(), new_talk())
    };
    let outcome = refused(Item::Exchange(Box::new(exchange)), &facts).unwrap();
    let expected = ports::ExchangeOutcome::Repeated(record);
    assert_eq!(outcome, Outcome::Exchange(expected));
}

#[test]
fn anybody_else_takes_the_key_over() {
    let knows = BeginTurn {
        goes_on: true,
        ..claimed(new_talk())
    };
    let mut other_command = claimed(new_talk());
    let claim = other_command.claim.as_mut().unwrap();
    claim.fingerprint = Fingerprint::of(&"another command");
    for question in [knows, other_command, claimed(existing(2))] {
        let turn = question.turn_id;
        let (rows, _) = carried_out(Item::Begin(Box::new(question)), &released_facts());
        assert_eq!(rows.claims[0].turn_id, Some(turn));
        assert_eq!(rows.turns[0].turn.status, TurnStatus::InProgress);
    }
}

#[test]
fn a_key_that_was_not_given_back_is_told_to_everybody() {
    let mut facts = facts();
    facts.claims.extend([used(&samples::claim("k"))]);
    for goes_on in [true, false] {
        for target in [new_talk(), existing(2)] {
            let question = BeginTurn {
                goes_on,
                on_busy: OnBusy::Reject,
                ..claimed(target)
            };
            let outcome = refused(Item::Begin(Box::new(question)), &facts).unwrap();
            let is_repeated = matches!(outcome, Outcome::Begin(BeginOutcome::Repeated(_)));
            assert!(is_repeated, "{outcome:?}");
        }
    }
}
