//! Tests of turns that are cancelled by a caller or by a deletion.

use domain::{RequestUsage, ToolCall};
use ports::write_store::OpenTurnsOf;

use super::*;
use crate::{
    CancelOutcome, DeleteOutcome, Reply,
    commands::{CancelTurn, DeleteAgent},
};

fn cancel(number: u32, partial: Option<Reply>) -> CancelTurn {
    CancelTurn {
        reasoning: None,
        tenant: fixture::tenant(),
        turn_id: fixture::turn_id(number),
        conversation_id: fixture::conversation_id(1),
        partial,
        node: Some(fixture::node_id(1)),
        stamp: fixture::stamp(9),
    }
}

fn delete_agent(expected: Option<i64>) -> DeleteAgent {
    DeleteAgent {
        tenant: fixture::tenant(),
        id: agent().id,
        expected,
        stamp: fixture::stamp(9),
    }
}

#[test]
fn cancelling_a_running_turn_stores_its_partial_reply_and_starts_the_next() {
    let partial = fixture::reply(8);
    let (rows, outcome) = carried_out(&cancel(8, Some(partial.clone())), &busy_facts());
    assert_eq!(
        events(&rows),
        [(11, "turn.cancelled"), (12, "turn.started")]
    );
    assert_eq!(rows.messages[0].message.content, partial.content);
    let CancelOutcome::Cancelled {
        committed: at,
        promoted: Some(promoted),
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(at, committed(11, 12));
    assert_eq!(promoted.turn.id, fixture::turn_id(9));
}

#[test]
fn a_turn_that_another_process_runs_keeps_the_calls_of_its_journal() {
    let mut facts = busy_facts();
    facts.insert_journal(8, journal());
    let (rows, _) = carried_out(&cancel(8, None), &facts);
    assert_eq!(rows.messages.len(), 1, "the user message of the next turn");
    let of = |calls: &[ToolCall]| -> Vec<_> {
        let calls = calls.iter();
        calls.map(|it| (it.id.clone(), it.status.clone())).collect()
    };
    let expected = [
        ("call-1".to_owned(), ToolCall::OK.to_owned()),
        ("call-2".to_owned(), ToolCall::OUTCOME_UNKNOWN.to_owned()),
    ];
    assert_eq!(of(&rows.ends[0].tool_calls), expected);
    let (rows, _) = carried_out(&cancel(8, Some(fixture::reply(8))), &facts);
    let calls = of(&rows.ends[0].tool_calls);
    assert_eq!(
        calls, expected,
        "they were recorded after the reply was taken"
    );
}

#[test]
fn cancelling_a_queued_turn_stores_no_message_and_starts_nothing() {
    let (rows, outcome) = carried_out(&cancel(9, Some(fixture::reply(9))), &busy_facts());
    assert_eq!(events(&rows), [(11, "turn.cancelled")]);
    assert!(rows.messages.is_empty() && rows.starts.is_empty());
    assert_eq!(rows.advances, [raised_position(11)]);
    assert!(
        matches!(outcome, CancelOutcome::Cancelled { promoted: None, .. }),
        "{outcome:?}"
    );
}

#[test]
fn only_a_running_turn_is_cancelled_with_its_requests() {
    let partial = Reply {
        content: String::new(),
        usage: RequestUsage::sum(&fixture::requests(10)),
        requests: fixture::requests(10),
        ..fixture::reply(8)
    };
    let (rows, _) = carried_out(&cancel(8, Some(partial.clone())), &busy_facts());
    assert_eq!((rows.ends[0].usage, rows.usage.len()), (partial.usage, 2));
    let (rows, _) = carried_out(&cancel(9, Some(partial)), &busy_facts());
    assert_eq!((rows.ends[0].usage, rows.usage), (None, Vec::new()));
}

#[test]
fn a_cancellation_starts_nothing_without_a_live_node() {
    let mut without_node = busy_facts();
    without_node.live_nodes.clear();
    let drains = CancelTurn {
        node: None,
        ..cancel(8, None)
    };
    for (cancel, facts) in [(cancel(8, None), without_node), (drains, busy_facts())] {
        let (rows, _) = carried_out(&cancel, &facts);
        assert_eq!(events(&rows), [(11, "turn.cancelled")]);
        assert!(rows.starts.is_empty());
    }
}

#[test]
fn a_turn_that_has_ended_is_not_cancelled() {
    let mut facts = busy_facts();
    facts.insert_turn(turn(8, TurnStatus::Failed));
    let outcome = rejected(&cancel(8, None), &facts).unwrap();
    assert_eq!(outcome, CancelOutcome::AlreadyFinal);
    // Its conversation may be deleted since.
    facts.conversations.clear();
    let outcome = rejected(&cancel(8, None), &facts).unwrap();
    assert_eq!(outcome, CancelOutcome::AlreadyFinal);
}

#[test]
fn a_turn_that_is_unknown_or_of_another_conversation_is_not_found() {
    let elsewhere = CancelTurn {
        conversation_id: unknown_conversation(),
        ..cancel(8, None)
    };
    for cancel in [cancel(404, None), elsewhere] {
        let outcome = rejected(&cancel, &busy_facts()).unwrap();
        assert_eq!(outcome, CancelOutcome::NotFound);
    }
}

#[test]
fn the_deletion_of_an_agent_is_logged_after_the_turns_that_it_cancels() {
    let mut facts = busy_facts();
    let turns = OpenTurnsOf {
        agent: agent().id,
        conversation: None,
    };
    let open = vec![open_turn(8), open_turn(9)];
    facts.open_turns.insert((fixture::tenant(), turns), open);
    let (rows, outcome) = carried_out(&delete_agent(Some(1)), &facts);
    let expected = [
        (11, "turn.cancelled"),
        (12, "turn.cancelled"),
        (13, "agent.deleted"),
    ];
    assert_eq!(events(&rows), expected);
    assert_eq!(outcome, DeleteOutcome::Deleted(committed(11, 13)));
    assert_eq!(rows.ends.len(), 2);
    assert_eq!(rows.agent_deletions[0].id, agent().id);
}

#[test]
fn an_agent_of_another_version_or_without_a_row_is_not_deleted() {
    assert_stale(&delete_agent(Some(2)), &busy_facts());
    let outcome = rejected(&delete_agent(None), &Facts::default()).unwrap();
    assert_eq!(outcome, DeleteOutcome::NotFound);
}
