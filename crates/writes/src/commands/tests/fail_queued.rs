//! Tests of queued turns that fail.

use super::*;
use crate::commands::FailQueuedTurn;

#[test]
fn a_turn_fails_only_while_it_is_queued() {
    let fail = FailQueuedTurn {
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(9),
        conversation_id: fixture::conversation_id(1),
        problem: fixture::lasting_problem(),
        time: fixture::at(9),
    };
    let mut facts = busy_facts();
    let (rows, outcome) = carried_out(&fail, &facts);
    assert_eq!(events(&rows), [(11, "turn.failed")]);
    assert_eq!(outcome, Some(committed(11, 11)));
    assert!(rows.starts.is_empty());
    for status in [TurnStatus::InProgress, TurnStatus::Failed] {
        facts.insert_turn(turn(9, status));
        assert_eq!(rejected(&fail, &facts).unwrap(), None);
    }
    let mut of_newer = turn(9, TurnStatus::Queued);
    of_newer.level = Some(domain::LEVEL + 1);
    facts.insert_turn(of_newer);
    assert_eq!(rejected(&fail, &facts).unwrap(), None);
}
