use domain::admission::OnBusy;
use ports::{BeginOutcome, Committed};

use super::*;

fn item(begin: BeginTurn) -> Item {
    Item::Begin(Box::new(begin))
}

#[test]
fn starts_in_an_idle_conversation() {
    let (rows, outcome) = carried_out(item(asked(1, existing(2))), &facts());
    let committed = Committed {
        first: Seq(11),
        last: Seq(11),
    };
    let expected = BeginOutcome::Started {
        committed,
        message_seq: 5,
        turn_number: 2,
    };
    assert_eq!(outcome, Outcome::Begin(expected));
    assert_eq!(rows.turns[0].node, Some(samples::node_id(1)));
    assert_eq!(rows.turns[0].turn.status, TurnStatus::InProgress);
    assert_eq!(rows.messages.len(), 1);
    assert_eq!(
        (rows.advances[0].message_count, rows.advances[0].turn_count),
        (5, 3)
    );
}

#[test]
fn waits_behind_another_without_a_message_or_a_version() {
    let (rows, outcome) = carried_out(item(asked(1, existing(0))), &busy_facts());
    let committed = Committed {
        first: Seq(11),
        last: Seq(11),
    };
    assert_eq!(outcome, Outcome::Begin(BeginOutcome::Queued(committed)));
    assert_eq!(events(&rows), [(11, "turn.queued")]);
    let row = &rows.turns[0];
    assert_eq!(
        (row.queued_seq, row.node, row.turn.agent_version),
        (Some(Seq(11)), None, None)
    );
    assert!(rows.messages.is_empty() && rows.advances.is_empty());
}

#[test]
fn is_refused_when_it_would_not_wait() {
    let impatient = BeginTurn {
        on_busy: OnBusy::Reject,
        ..asked(1, existing(2))
    };
    let outcome = refused(item(impatient), &busy_facts()).unwrap();
    assert_eq!(outcome, Outcome::Begin(BeginOutcome::Busy));
}

#[test]
fn is_refused_to_a_node_that_is_not_alive() {
    let dead = BeginTurn {
        node: samples::node_id(2),
        ..asked(1, existing(2))
    };
    let outcome = refused(item(dead), &facts()).unwrap();
    assert_eq!(outcome, Outcome::Begin(BeginOutcome::NodeRefused));
}

#[test]
fn is_stale_only_when_it_would_start() {
    let outcome = refused(item(asked(1, existing(1))), &facts());
    assert!(
        matches!(outcome, Err(RepositoryError::Stale { .. })),
        "{outcome:?}"
    );
}
