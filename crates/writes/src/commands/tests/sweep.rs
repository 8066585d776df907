//! Tests of turns that are failed or started without their callers.

use domain::{Problem, ProblemCode};
use ports::{
    FactsQuery,
    write_store::{SweptConversation, WaitingTurn, swept_conversations},
};

use super::*;
use crate::{Sweep, SweepOutcome};

fn pass() -> Sweep {
    Sweep {
        tenant: fixture::tenant(),
        node: Some(fixture::node_id(1)),
        max_wait: std::time::Duration::from_mins(10),
        now: fixture::at(7),
        limit: 10,
    }
}

fn waiting(number: u32, is_expired: bool) -> WaitingTurn {
    WaitingTurn {
        id: fixture::turn_id(number),
        is_expired,
    }
}

/// Conversation 1, in which turn 8 is lost.
fn lost(waiting: Vec<WaitingTurn>) -> SweptConversation {
    SweptConversation {
        id: fixture::conversation_id(1),
        lost: Some(fixture::turn_id(8)),
        unanswered: None,
        waiting,
    }
}

/// Conversation 1 without a running turn.
fn free(waiting: Vec<WaitingTurn>) -> SweptConversation {
    SweptConversation {
        lost: None,
        unanswered: None,
        ..lost(waiting)
    }
}

/// The facts with turn 8 running, and turns 9, 10 and 11 queued.
fn crowded_facts() -> Facts {
    let mut facts = busy_facts();
    for number in [10, 11] {
        facts.insert_turn(turn(number, TurnStatus::Queued));
    }
    facts
}

fn free_facts() -> Facts {
    let mut facts = crowded_facts();
    facts.conversation_mut().running = None;
    facts
}

fn sweep(mut facts: Facts, conversation: SweptConversation, pass: &Sweep) -> (Rows, SweepOutcome) {
    facts.swept = vec![conversation];
    carried_out(pass, &facts)
}

fn ids(swept: &SweepOutcome) -> (Vec<TurnId>, Vec<TurnId>) {
    let promoted = swept.promoted.iter().map(|promoted| promoted.turn.id);
    (swept.failed.clone(), promoted.collect())
}

fn turns(numbers: &[u32]) -> Vec<TurnId> {
    numbers.iter().copied().map(fixture::turn_id).collect()
}

/// The facts with turn 8 after the loss of its first process.
fn facts_after_a_loss() -> Facts {
    let mut facts = crowded_facts();
    facts.insert_journal(8, journal_after_a_loss());
    facts
}

#[test]
fn a_turn_that_is_lost_twice_fails_and_the_next_starts() {
    let conversation = lost(vec![waiting(9, false), waiting(10, false)]);
    let (rows, swept) = sweep(facts_after_a_loss(), conversation, &pass());
    assert_eq!(events(&rows), [(11, "turn.failed"), (12, "turn.started")]);
    assert_eq!(ids(&swept), (turns(&[8]), turns(&[9])));
    assert_eq!(swept.committed, Some(committed(11, 12)));
    let interrupted = Problem::new(ProblemCode::Interrupted);
    assert_eq!(rows.ends[0].error, Some(interrupted));
    assert_eq!(rows.released[0].turn_id, fixture::turn_id(8));
    assert_eq!(rows.starts[0].turn_number, 2);
    assert_eq!(rows.advances.len(), 1);
    assert_eq!(
        (
            rows.advances[0].last_message_seq,
            rows.advances[0].turn_count
        ),
        (5, 3)
    );
}

#[test]
fn expired_turns_fail_before_the_next_starts() {
    let conversation = free(vec![
        waiting(9, true),
        waiting(10, false),
        waiting(11, true),
    ]);
    let (rows, swept) = sweep(free_facts(), conversation, &pass());
    assert_eq!(ids(&swept), (turns(&[9, 11]), turns(&[10])));
    let late = Some(Problem::new(ProblemCode::EngineTimeout));
    assert!(rows.ends.iter().all(|end| end.error == late));
    assert_eq!(rows.released.len(), 2);
}

#[test]
fn no_turn_starts_while_another_runs() {
    let conversation = free(vec![waiting(9, true), waiting(10, false)]);
    let (_, swept) = sweep(crowded_facts(), conversation, &pass());
    assert_eq!(ids(&swept), (turns(&[9]), vec![]));
}

#[test]
fn a_lost_turn_is_resumed_and_no_other_starts() {
    let conversation = lost(vec![waiting(9, true), waiting(10, false)]);
    let (rows, swept) = sweep(crowded_facts(), conversation, &pass());
    assert_eq!(events(&rows), [(11, "turn.resumed"), (12, "turn.failed")]);
    assert_eq!(ids(&swept), (turns(&[9]), turns(&[8])));
    assert_eq!(swept.committed, Some(committed(11, 12)));
    assert_eq!(rows.assignments[0].id, fixture::turn_id(8));
    assert!(rows.starts.is_empty());
}

#[test]
fn no_turn_starts_without_a_live_node() {
    for node in [None, Some(fixture::node_id(2))] {
        let conversation = free(vec![waiting(9, true), waiting(10, false)]);
        let pass = Sweep { node, ..pass() };
        let (rows, swept) = sweep(free_facts(), conversation, &pass);
        assert_eq!(ids(&swept), (turns(&[9]), vec![]));
        assert!(rows.starts.is_empty());
        assert_eq!(rows.advances, [raised_position(11)]);
    }
}

#[test]
fn a_lost_turn_is_left_alone_without_a_live_node() {
    for node in [None, Some(fixture::node_id(2))] {
        let pass = Sweep { node, ..pass() };
        for facts in [crowded_facts(), facts_after_a_loss()] {
            let written = sweep(facts, lost(vec![waiting(9, false)]), &pass);
            assert_eq!(written, (Rows::default(), SweepOutcome::default()));
        }
        let (rows, swept) = sweep(crowded_facts(), lost(vec![waiting(9, true)]), &pass);
        assert_eq!(ids(&swept), (turns(&[9]), vec![]));
        assert_eq!(events(&rows), [(11, "turn.failed")]);
    }
}

#[test]
fn a_lost_turn_that_is_left_to_newer_nodes_keeps_its_conversation() {
    let mut facts = facts_after_a_loss();
    facts.turn_mut(fixture::turn_id(8)).level = Some(domain::LEVEL + 1);
    let written = sweep(facts, lost(vec![waiting(9, false)]), &pass());
    assert_eq!(written, (Rows::default(), SweepOutcome::default()));
}

#[test]
fn a_sweep_stops_at_its_limit_and_skips_no_turn() {
    let late = vec![waiting(9, true), waiting(10, true), waiting(11, false)];
    for (limit, failed, promoted) in [
        (0, vec![], vec![]),
        (1, turns(&[8]), vec![]),
        (2, turns(&[8, 9]), vec![]),
        (3, turns(&[8, 9, 10]), vec![]),
        (4, turns(&[8, 9, 10]), turns(&[11])),
    ] {
        let pass = Sweep { limit, ..pass() };
        let (rows, swept) = sweep(facts_after_a_loss(), lost(late.clone()), &pass);
        assert_eq!(ids(&swept), (failed, promoted), "{limit}");
        assert_eq!(rows.events.len(), limit);
        assert_eq!(swept.committed.is_some(), limit > 0);
    }
    for (limit, failed, resumed) in [
        (0, vec![], vec![]),
        (1, vec![], turns(&[8])),
        (2, turns(&[9]), turns(&[8])),
        (4, turns(&[9, 10]), turns(&[8])),
    ] {
        let pass = Sweep { limit, ..pass() };
        let (_, swept) = sweep(crowded_facts(), lost(late.clone()), &pass);
        assert_eq!(ids(&swept), (failed, resumed), "{limit}");
    }
}

#[test]
fn nothing_is_written_for_a_deleted_conversation() {
    let mut facts = crowded_facts();
    facts.conversations.clear();
    let conversation = lost(vec![waiting(9, true)]);
    let written = sweep(facts, conversation, &pass());
    assert_eq!(written, (Rows::default(), SweepOutcome::default()));
}

#[test]
fn the_query_contains_the_turns_that_may_end_and_the_one_that_may_start() {
    let conversation = lost(vec![
        waiting(9, true),
        waiting(10, false),
        waiting(11, false),
    ]);
    let mut facts = Facts::default();
    let mut query = FactsQuery::default();
    pass().needs_more(&facts, &mut query);
    assert!(query.is_empty());
    facts.swept = vec![conversation];
    pass().needs_more(&facts, &mut query);
    let in_tenant = |turn| (fixture::tenant(), turn);
    let named = turns(&[8, 9, 10]).into_iter().map(in_tenant).collect();
    assert_eq!(query.turns, named);
    let with_entries = turns(&[8, 10]).into_iter().map(in_tenant).collect();
    assert_eq!(
        query.journals, with_entries,
        "the next one may be a continuation"
    );
    assert_eq!(query.nodes, [fixture::node_id(1)].into());
    assert_eq!(query.conversations.len(), 1);
}

#[test]
fn the_queues_of_conversations_are_separate_and_in_order() {
    let (one, other) = (fixture::conversation_id(1), fixture::conversation_id(2));
    let lost_turn = (one, fixture::turn_id(8));
    let queue = [
        (other, waiting(5, false)),
        (one, waiting(9, false)),
        (other, waiting(3, true)),
    ];
    let expected = [
        lost(vec![waiting(9, false)]),
        SweptConversation {
            id: other,
            lost: None,
            unanswered: None,
            waiting: vec![waiting(5, false), waiting(3, true)],
        },
    ];
    assert_eq!(swept_conversations([lost_turn], [], queue), expected);
}
