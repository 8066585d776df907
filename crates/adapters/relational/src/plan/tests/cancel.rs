use ports::CancelOutcome;

use super::*;
use crate::{
    event_rows,
    plan::{TurnToCancel, cancel_turn, log_deletion},
};

#[test]
fn cancelling_a_running_turn_stores_its_partial_reply_and_starts_the_next() {
    let facts = busy_facts();
    let partial = fixture::reply(8);
    let node = Some(fixture::node_id(1));
    let (rows, outcome) = cancel_turn(
        &facts,
        &turn(8, TurnStatus::InProgress),
        Some(&partial),
        node,
        &fixture::stamp(9),
    );
    assert_eq!(
        events(&rows),
        [(11, "turn.cancelled"), (12, "turn.started")]
    );
    assert_eq!(rows.messages[0].message.content, partial.content);
    assert!(
        matches!(
            outcome,
            CancelOutcome::Cancelled {
                promoted: Some(_),
                ..
            }
        ),
        "{outcome:?}"
    );
}

#[test]
fn cancelling_a_queued_turn_stores_no_message_and_starts_nothing() {
    let facts = busy_facts();
    let partial = fixture::reply(9);
    let waiting = turn(9, TurnStatus::Queued);
    let node = Some(fixture::node_id(1));
    let (rows, outcome) = cancel_turn(&facts, &waiting, Some(&partial), node, &fixture::stamp(9));
    assert_eq!(events(&rows), [(11, "turn.cancelled")]);
    assert!(rows.messages.is_empty() && rows.starts.is_empty());
    assert_eq!(rows.advances, [raised_position(11)]);
    assert!(
        matches!(outcome, CancelOutcome::Cancelled { promoted: None, .. }),
        "{outcome:?}"
    );
}

#[test]
fn a_turn_that_has_ended_is_not_cancelled() {
    let ended = turn(8, TurnStatus::Failed);
    let (rows, outcome) = cancel_turn(&busy_facts(), &ended, None, None, &fixture::stamp(9));
    assert_eq!(
        (rows, outcome),
        (Rows::default(), CancelOutcome::AlreadyFinal)
    );
}

#[test]
fn a_deletion_is_logged_after_the_turns_that_it_cancels() {
    let open = |number| TurnToCancel {
        latest_time: fixture::at(1),
        id: fixture::turn_id(number),
        conversation_id: fixture::conversation_id(1),
        agent_id: agent().id,
        user_id: None,
    };
    let facts = facts();
    let id = fixture::conversation_id(1);
    let deleted = facts.conversation(&fixture::tenant(), id).unwrap();
    let stamp = fixture::stamp(9);
    let (rows, committed) = log_deletion(
        &fixture::tenant(),
        Seq(10),
        &[open(8), open(9)],
        &stamp,
        |position| event_rows::conversation_deleted(position, id, deleted),
    );
    let expected = [
        (11, "turn.cancelled"),
        (12, "turn.cancelled"),
        (13, "conversation.deleted"),
    ];
    assert_eq!(events(&rows), expected);
    assert_eq!((committed.first, committed.last), (Seq(11), Seq(13)));
    assert_eq!(rows.ends.len(), 2);
}
