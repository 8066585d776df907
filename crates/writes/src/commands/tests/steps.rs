//! Tests of journals, and of turns that their node gives up.

use domain::NodeId;
use ports::write_store::{RunningTurn, StepRow, TurnAssignment, TurnCalls};

use super::*;
use crate::{RecordSteps, RecordStepsOutcome, ReleaseTurn};

/// The facts with turn 8 running on node 1.
fn running_facts() -> Facts {
    let mut facts = busy_facts();
    facts.running_turns.insert(RunningTurn {
        tenant: fixture::tenant(),
        id: fixture::turn_id(8),
        node: fixture::node_id(1),
    });
    facts
}

fn record(turn: u32, node: NodeId) -> RecordSteps {
    RecordSteps {
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(turn),
        conversation_id: fixture::conversation_id(1),
        node,
        begun: (3..).zip(journal()).collect(),
        changed: vec![(1, journal().remove(1))],
        stamp: fixture::stamp(9),
    }
}

fn release(turn: u32, node: NodeId) -> ReleaseTurn {
    ReleaseTurn {
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(turn),
        conversation_id: fixture::conversation_id(1),
        node,
        was_lost: false,
    }
}

fn row((number, step): (usize, TurnStep)) -> StepRow {
    StepRow {
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(8),
        number,
        step,
    }
}

#[test]
fn steps_of_a_running_turn_are_the_only_rows() {
    let record = record(8, fixture::node_id(1));
    let (rows, outcome) = carried_out(&record, &running_facts());
    assert!(outcome.is_recorded());
    let expected = Rows {
        calls: vec![TurnCalls {
            tenant: fixture::tenant(),
            id: fixture::turn_id(8),
            may_act: true,
        }],
        steps: record.begun.into_iter().map(row).collect(),
        changed_steps: record.changed.into_iter().map(row).collect(),
        ..Rows::default()
    };
    assert_eq!(rows, expected);
}

#[test]
fn a_turn_that_its_node_gives_up_has_none_and_logs_nothing() {
    let released = release(8, fixture::node_id(1));
    let (rows, is_released) = carried_out(&released, &running_facts());
    assert!(is_released);
    let expected = Rows {
        assignments: vec![TurnAssignment {
            tenant: fixture::tenant(),
            id: fixture::turn_id(8),
            node: None,
        }],
        ..Rows::default()
    };
    assert_eq!(rows, expected);
}

/// Turns that run elsewhere, and those that have ended, are no running turns of the node.
#[test]
fn only_the_node_that_runs_a_turn_writes_its_journal_or_gives_it_up() {
    let facts = running_facts();
    for (turn, node) in [(8, 2), (9, 1), (404, 1)] {
        let node = fixture::node_id(node);
        let outcome = rejected(&record(turn, node), &facts).unwrap();
        assert_eq!(outcome, RecordStepsOutcome::NotOwned);
        assert!(!rejected(&release(turn, node), &facts).unwrap());
    }
}

/// An equal head proves nothing about them, and it need not be read.
#[test]
fn they_ask_for_the_running_turn_and_for_no_head() {
    let node = fixture::node_id(1);
    let commands = [queued(&record(8, node)).0, queued(&release(8, node)).0];
    for command in commands {
        let batch = batch([command], None);
        let query = batch.query(0, &Facts::default()).unwrap();
        assert!(query.tenants.is_empty());
        assert_eq!(query.running_turns.len(), 1);
        assert_eq!(query.locked_tenants(), [&fixture::tenant()].into());
        assert_eq!(batch.query(1, &Facts::default()), None);
    }
}
