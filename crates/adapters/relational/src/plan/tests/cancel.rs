use domain::Conversation;
use ports::CancelOutcome;

use super::*;
use crate::{
    event_rows,
    plan::{OpenTurn, cancel_turn, delete},
};

#[test]
fn keeps_what_a_running_turn_had_said_and_promotes() {
    let facts = busy_facts();
    let said = samples::reply(8);
    let node = Some(samples::node_id(1));
    let (rows, outcome) = cancel_turn(
        &facts,
        &turn(8, TurnStatus::InProgress),
        Some(&said),
        node,
        &samples::stamp(9),
    );
    assert_eq!(
        events(&rows),
        [(11, "turn.cancelled"), (12, "turn.started")]
    );
    assert_eq!(rows.messages[0].message.content, said.content);
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
fn a_turn_that_waited_leaves_no_message_and_promotes_nothing() {
    let facts = busy_facts();
    let said = samples::reply(9);
    let waiting = turn(9, TurnStatus::Queued);
    let node = Some(samples::node_id(1));
    let (rows, outcome) = cancel_turn(&facts, &waiting, Some(&said), node, &samples::stamp(9));
    assert_eq!(events(&rows), [(11, "turn.cancelled")]);
    assert!(rows.messages.is_empty() && rows.starts.is_empty() && rows.advances.is_empty());
    assert!(
        matches!(outcome, CancelOutcome::Cancelled { promoted: None, .. }),
        "{outcome:?}"
    );
}

#[test]
fn ends_nothing_twice() {
    let ended = turn(8, TurnStatus::Failed);
    let (rows, outcome) = cancel_turn(&busy_facts(), &ended, None, None, &samples::stamp(9));
    assert_eq!(
        (rows, outcome),
        (Rows::default(), CancelOutcome::AlreadyFinal)
    );
}

#[test]
fn a_deletion_comes_after_the_turns_it_ends() {
    let open = |number| OpenTurn {
        latest_time: samples::at(1),
        id: samples::turn_id(number),
        conversation_id: samples::conversation_id(1),
        agent_id: agent().id,
        user_id: None,
    };
    let gone: Conversation = samples::conversation(1, agent().id);
    let stamp = samples::stamp(9);
    let (rows, committed) = delete(
        &samples::tenant(),
        Seq(10),
        &[open(8), open(9)],
        &stamp,
        |place| event_rows::conversation_deleted(place, &gone),
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
