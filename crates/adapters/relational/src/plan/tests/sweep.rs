use domain::{Problem, ProblemCode};
use ports::{Committed, Sweep, Swept};

use super::*;
use crate::plan::{
    SweptConversation, WaitingTurn, fail_queued, sweep, sweep_query, swept_conversations,
};

fn pass() -> Sweep {
    Sweep {
        tenant: samples::tenant(),
        node: Some(samples::node_id(1)),
        longest_wait: std::time::Duration::from_mins(10),
        now: samples::at(7),
        limit: 10,
    }
}

fn waiting(number: u32, is_expired: bool) -> WaitingTurn {
    WaitingTurn {
        id: samples::turn_id(number),
        is_expired,
    }
}

/// Conversation 1, in which turn 8 is lost.
fn lost(waiting: Vec<WaitingTurn>) -> SweptConversation {
    SweptConversation {
        id: samples::conversation_id(1),
        lost: Some(samples::turn_id(8)),
        waiting,
    }
}

/// Conversation 1, in which nothing runs.
fn free(waiting: Vec<WaitingTurn>) -> SweptConversation {
    SweptConversation {
        lost: None,
        ..lost(waiting)
    }
}

/// The facts with turn 8 running, and 9, 10 and 11 waiting.
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

fn ids(swept: &Swept) -> (Vec<TurnId>, Vec<TurnId>) {
    let promoted = swept.promoted.iter().map(|promoted| promoted.turn.id);
    (swept.failed.clone(), promoted.collect())
}

fn turns(numbers: &[u32]) -> Vec<TurnId> {
    numbers.iter().copied().map(samples::turn_id).collect()
}

#[test]
fn fails_a_lost_turn_and_starts_the_next() {
    let conversation = lost(vec![waiting(9, false), waiting(10, false)]);
    let (rows, swept) = sweep(&crowded_facts(), &[conversation], &pass());
    assert_eq!(events(&rows), [(11, "turn.failed"), (12, "turn.started")]);
    assert_eq!(ids(&swept), (turns(&[8]), turns(&[9])));
    let committed = Committed {
        first: Seq(11),
        last: Seq(12),
    };
    assert_eq!(swept.committed, Some(committed));
    let interrupted = Problem::new(ProblemCode::Interrupted);
    assert_eq!(rows.ends[0].error, Some(interrupted));
    assert_eq!(rows.released[0].turn_id, samples::turn_id(8));
    assert_eq!(rows.starts[0].turn_number, 2);
    assert_eq!(rows.advances.len(), 1);
    assert_eq!(
        (rows.advances[0].message_count, rows.advances[0].turn_count),
        (5, 3)
    );
}

#[test]
fn fails_those_that_waited_for_too_long_before_the_next_starts() {
    let conversation = free(vec![
        waiting(9, true),
        waiting(10, false),
        waiting(11, true),
    ]);
    let (rows, swept) = sweep(&free_facts(), &[conversation], &pass());
    assert_eq!(ids(&swept), (turns(&[9, 11]), turns(&[10])));
    let late = Some(Problem::new(ProblemCode::EngineTimeout));
    assert!(rows.ends.iter().all(|end| end.error == late));
    assert_eq!(rows.released.len(), 2);
}

#[test]
fn starts_nothing_behind_a_turn_that_runs() {
    let conversation = free(vec![waiting(9, true), waiting(10, false)]);
    let (_, swept) = sweep(&crowded_facts(), &[conversation], &pass());
    assert_eq!(ids(&swept), (turns(&[9]), vec![]));
}

#[test]
fn starts_nothing_without_a_node_that_is_alive() {
    for node in [None, Some(samples::node_id(2))] {
        let conversation = lost(vec![waiting(9, false)]);
        let pass = Sweep { node, ..pass() };
        let (rows, swept) = sweep(&crowded_facts(), &[conversation], &pass);
        assert_eq!(ids(&swept), (turns(&[8]), vec![]));
        assert!(rows.starts.is_empty() && rows.advances.is_empty());
    }
}

#[test]
fn stops_at_the_limit_and_overtakes_nobody() {
    let late = vec![waiting(9, true), waiting(10, true), waiting(11, false)];
    for (limit, failed, promoted) in [
        (0, vec![], vec![]),
        (1, turns(&[8]), vec![]),
        (2, turns(&[8, 9]), vec![]),
        (3, turns(&[8, 9, 10]), vec![]),
        (4, turns(&[8, 9, 10]), turns(&[11])),
    ] {
        let pass = Sweep { limit, ..pass() };
        let (rows, swept) = sweep(&crowded_facts(), &[lost(late.clone())], &pass);
        assert_eq!(ids(&swept), (failed, promoted), "{limit}");
        assert_eq!(rows.events.len(), limit);
        assert_eq!(swept.committed.is_some(), limit > 0);
    }
}

#[test]
fn writes_nothing_of_a_conversation_that_is_gone() {
    let mut facts = crowded_facts();
    facts.conversations.clear();
    let conversation = lost(vec![waiting(9, true)]);
    let written = sweep(&facts, &[conversation], &pass());
    assert_eq!(written, (Rows::default(), Swept::default()));
}

#[test]
fn asks_for_what_may_end_and_for_the_one_that_may_start() {
    let conversation = lost(vec![
        waiting(9, true),
        waiting(10, false),
        waiting(11, false),
    ]);
    let query = sweep_query(&pass(), &[conversation]);
    let ended: Vec<_> = query.ended.iter().map(|(_, turn)| *turn).collect();
    assert_eq!(ended, turns(&[8, 9, 10]));
    assert_eq!(query.nodes, [samples::node_id(1)].into());
    assert_eq!(query.conversations.len(), 1);
}

#[test]
fn keeps_the_queues_of_conversations_apart_and_in_order() {
    let (one, other) = (samples::conversation_id(1), samples::conversation_id(2));
    let lost_turn = (one, samples::turn_id(8));
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
            waiting: vec![waiting(5, false), waiting(3, true)],
        },
    ];
    assert_eq!(swept_conversations([lost_turn], queue), expected);
}

#[test]
fn fails_a_turn_only_while_it_waits() {
    let problem = samples::lasting_problem();
    let stamp = samples::stamp(9);
    let facts = busy_facts();
    let waits = turn(9, TurnStatus::Queued);
    let (rows, committed) = fail_queued(&facts, &waits, &problem, &stamp);
    assert_eq!(events(&rows), [(11, "turn.failed")]);
    assert!(committed.is_some() && rows.starts.is_empty());
    for status in [TurnStatus::InProgress, TurnStatus::Failed] {
        let written = fail_queued(&facts, &turn(9, status), &problem, &stamp);
        assert_eq!(written, (Rows::default(), None));
    }
}
