use domain::admission::OnBusy;

use super::*;
use crate::BeginOutcome;

#[test]
fn a_turn_starts_in_an_idle_conversation() {
    let (rows, outcome) = carried_out(&begin_turn(1, existing(2)), &facts());
    let expected = BeginOutcome::Started {
        committed: committed(11, 11),
        messages: messages(1, 5, 2),
    };
    assert_eq!(outcome, expected);
    assert_eq!(rows.turns[0].node, Some(fixture::node_id(1)));
    assert_eq!(rows.turns[0].turn.status, TurnStatus::InProgress);
    assert_eq!(rows.messages.len(), 1);
    assert_eq!(
        (
            rows.advances[0].last_message_seq,
            rows.advances[0].turn_count
        ),
        (5, 3)
    );
}

#[test]
fn a_queued_turn_has_no_message_and_no_agent_version() {
    let (rows, outcome) = carried_out(&begin_turn(1, existing(0)), &busy_facts());
    assert_eq!(outcome, BeginOutcome::Queued(committed(11, 11)));
    assert_eq!(events(&rows), [(11, "turn.queued")]);
    let row = &rows.turns[0];
    assert_eq!(
        (row.queued_seq, row.node, row.turn.agent_version),
        (Some(Seq(11)), None, None)
    );
    assert!(rows.messages.is_empty());
    assert_eq!(rows.advances, [raised_position(11)]);
}

#[test]
fn a_turn_that_must_not_be_queued_is_rejected_in_a_busy_conversation() {
    let begin = BeginTurn {
        on_busy: OnBusy::Reject,
        ..begin_turn(1, existing(2))
    };
    let outcome = rejected(&begin, &busy_facts()).unwrap();
    assert_eq!(outcome, BeginOutcome::Busy);
}

#[test]
fn a_dead_node_cannot_begin_a_turn() {
    let dead = BeginTurn {
        node: fixture::node_id(2),
        ..begin_turn(1, existing(2))
    };
    let outcome = rejected(&dead, &facts()).unwrap();
    assert_eq!(outcome, BeginOutcome::NodeDead);
}

#[test]
fn outdated_assumptions_matter_only_if_the_turn_would_start() {
    assert_stale(&begin_turn(1, existing(1)), &facts());
}

#[test]
fn a_turn_begins_only_in_a_conversation_of_the_user_whom_it_names() {
    let of = |user: &str| BeginTurn {
        only_of: Some(user.to_owned()),
        ..begin_turn(1, existing(2))
    };
    let (rows, _) = carried_out(&of("ada"), &facts());
    assert_eq!(rows.turns.len(), 1);
    // Also if it would be queued, or be recorded as a whole.
    for facts in [facts(), busy_facts()] {
        assert_stale(&of("bob"), &facts);
    }
    let completed = crate::CompletedTurn {
        begin: of("bob"),
        ..fixture::completed_turn(1, &agent(), existing(2))
    };
    assert_stale(&completed, &facts());
}
