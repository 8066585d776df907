//! Tests of lost turns that go on elsewhere.

use std::time::Duration;

use domain::{NodeId, ProblemCode, ToolCall};
use ports::write_store::{StepRow, SweptConversation, TurnAssignment};

use super::*;
use crate::{PromotedTurn, Sweep, SweepOutcome};

/// The facts with turn 8, which ran on `node` and is lost, and its journal.
fn lost_facts(node: Option<NodeId>, journal: Vec<TurnStep>) -> Facts {
    let mut facts = busy_facts();
    facts.turn_mut(fixture::turn_id(8)).node = node;
    facts.insert_journal(8, journal);
    facts.swept = vec![SweptConversation {
        id: fixture::conversation_id(1),
        lost: Some(fixture::turn_id(8)),
        unanswered: None,
        waiting: Vec::new(),
    }];
    facts
}

fn swept(facts: &Facts) -> (Rows, SweepOutcome) {
    let pass = Sweep {
        tenant: fixture::tenant(),
        node: Some(fixture::node_id(1)),
        max_wait: Duration::from_mins(10),
        now: fixture::at(50),
        limit: 10,
    };
    carried_out(&pass, facts)
}

/// Resumes the turn.
fn resumed(facts: &Facts) -> (Rows, PromotedTurn) {
    let (rows, mut outcome) = swept(facts);
    assert_eq!((outcome.failed.len(), outcome.promoted.len()), (0, 1));
    (rows, outcome.promoted.remove(0))
}

/// The entry that its resumption adds to the journal.
fn resumption(rows: &Rows) -> Resumption {
    match rows.steps.as_slice() {
        [
            StepRow {
                step: TurnStep::Resumed(resumption),
                ..
            },
        ] => *resumption,
        other => panic!("{other:?}"),
    }
}

const fn resumption_of(ended_steps: usize, losses: u32) -> Resumption {
    Resumption {
        ended_steps,
        losses,
    }
}

#[test]
fn a_lost_turn_gets_a_node_an_event_and_an_entry_and_nothing_else() {
    let dead = Some(fixture::node_id(2));
    let (rows, turn) = resumed(&lost_facts(dead, journal()));
    assert_eq!(events(&rows), [(11, "turn.resumed")]);
    let event = &rows.events[0];
    assert_eq!(event.turn_id, Some(fixture::turn_id(8)));
    assert_eq!(event.conversation_id, Some(fixture::conversation_id(1)));
    assert_eq!(event.user_id.as_deref(), Some("ada"));
    assert_eq!(
        (event.time, &event.actor),
        (fixture::at(50), &turn.principal)
    );
    let step = TurnStep::Resumed(resumption_of(2, 0));
    let expected = Rows {
        assignments: vec![TurnAssignment {
            tenant: fixture::tenant(),
            id: fixture::turn_id(8),
            node: Some(fixture::node_id(1)),
        }],
        steps: vec![StepRow {
            tenant: fixture::tenant(),
            turn_id: fixture::turn_id(8),
            number: 3,
            step: step.clone(),
        }],
        events: rows.events.clone(),
        heads: vec![(fixture::tenant(), Seq(11))],
        ..Rows::default()
    };
    assert_eq!(rows, expected);
    assert_eq!(turn.turn.id, fixture::turn_id(8));
    assert_eq!(turn.turn.status, TurnStatus::InProgress);
    assert_eq!(turn.messages, messages(8, 4, 1));
    let mut entries = journal();
    entries.push(step);
    assert_eq!(turn.journal, entries);
}

#[test]
fn the_event_is_not_earlier_than_the_start_of_the_turn() {
    let mut facts = lost_facts(None, Vec::new());
    facts.turn_mut(fixture::turn_id(8)).turn.started_at = Some(fixture::at(90));
    assert_eq!(resumed(&facts).0.events[0].time, fixture::at(90));
}

#[test]
fn only_losses_without_a_newly_ended_step_count() {
    let dead = Some(fixture::node_id(2));
    let of = |node, journal| resumption(&resumed(&lost_facts(node, journal)).0);
    assert_eq!(of(dead, Vec::new()), resumption_of(0, 1));
    assert_eq!(of(dead, journal()), resumption_of(2, 0));
    assert_eq!(of(None, journal_after_a_loss()), resumption_of(2, 1));
    let mut went_on = journal_after_a_loss();
    went_on[2] = went_on[1].clone();
    assert_eq!(of(dead, went_on), resumption_of(3, 1));
}

#[test]
fn the_second_loss_fails_the_turn_with_the_calls_of_its_journal() {
    let dead = Some(fixture::node_id(2));
    let (rows, outcome) = swept(&lost_facts(dead, journal_after_a_loss()));
    assert_eq!(outcome.failed, [fixture::turn_id(8)]);
    assert!(rows.assignments.is_empty() && rows.steps.is_empty());
    let end = &rows.ends[0];
    let error = end.error.as_ref().unwrap();
    assert_eq!(
        (error.code, error.retryable),
        (ProblemCode::Interrupted, true)
    );
    let calls = end.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|it| (it.id.as_str(), it.status.as_str()))
        .collect();
    let unknown = ToolCall::OUTCOME_UNKNOWN;
    assert_eq!(calls, [("call-1", ToolCall::OK), ("call-2", unknown)]);
}
