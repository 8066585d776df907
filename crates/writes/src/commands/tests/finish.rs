use domain::{Problem, RequestUsage};

use super::*;
use crate::{FinishOutcome, FinishTurn, Reply, TurnEnding};

fn finish(ending: TurnEnding) -> FinishTurn {
    fixture::finish(&begin_turn(8, existing(2)), ending)
}

fn failed(problem: Problem) -> FinishTurn {
    finish(TurnEnding::failed(problem))
}

#[test]
fn the_end_of_a_turn_starts_the_next_queued_turn() {
    let ending = TurnEnding::Completed(fixture::reply(8));
    let (rows, outcome) = carried_out(&finish(ending), &busy_facts());
    let FinishOutcome::Finished {
        committed: at,
        promoted,
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(at, committed(11, 12));
    assert_eq!(
        events(&rows),
        [(11, "turn.completed"), (12, "turn.started")]
    );
    let promoted = promoted.unwrap();
    assert_eq!(promoted.turn.id, fixture::turn_id(9));
    assert_eq!(promoted.turn.status, TurnStatus::InProgress);
    assert_eq!(promoted.turn.agent_version, Some(agent().version));
    assert_eq!(promoted.messages, messages(9, 6, 2));
    assert_eq!(rows.ends[0].reply_seq, Some(5));
    assert_eq!(rows.starts[0].node, fixture::node_id(1));
    assert_eq!(
        (
            rows.advances[0].last_message_seq,
            rows.advances[0].turn_count
        ),
        (6, 3)
    );
}

#[test]
fn times_of_a_row_never_run_backwards_when_clocks_differ() {
    let mut facts = busy_facts();
    facts.conversation_mut().updated_at = fixture::at(50);
    let mut finish = finish(TurnEnding::Completed(fixture::reply(8)));
    finish.stamp.time = fixture::at(-1_000);
    let (rows, _) = carried_out(&finish, &facts);
    let (ended, waiting) = (fixture::turn_id(8), fixture::turn_id(9));
    assert_eq!((rows.ends[0].id, rows.starts[0].id), (ended, waiting));
    assert_eq!(rows.ends[0].finished_at, fixture::at(8), "its start");
    assert_eq!(rows.starts[0].started_at, fixture::at(9), "its creation");
    assert_eq!(rows.advances[0].updated_at, fixture::at(50));
    assert_eq!(rows.advances[0].last_message_at, Some(fixture::at(50)));
}

#[test]
fn no_turn_starts_without_permission_or_without_a_live_node() {
    let mut draining = finish(TurnEnding::Completed(fixture::reply(8)));
    let mut without_node = busy_facts();
    without_node.live_nodes.clear();
    let (rows, _) = carried_out(&draining, &without_node);
    assert_eq!(events(&rows), [(11, "turn.completed")]);
    draining.promote = false;
    let (rows, _) = carried_out(&draining, &busy_facts());
    assert_eq!(events(&rows), [(11, "turn.completed")]);
    assert!(rows.starts.is_empty());
}

#[test]
fn a_retryable_problem_releases_the_key() {
    let (rows, _) = carried_out(&failed(fixture::retryable_problem()), &busy_facts());
    assert_eq!(rows.released[0].turn_id, fixture::turn_id(8));
    assert_eq!(rows.released[0].name.key, "key-8");
    let conversation = fixture::conversation_id(1);
    assert_eq!(rows.released[0].conversation_id, conversation);
    let (rows, _) = carried_out(&failed(fixture::lasting_problem()), &busy_facts());
    assert!(rows.released.is_empty());
}

#[test]
fn only_the_node_that_runs_a_turn_can_finish_it() {
    let mut elsewhere = busy_facts();
    elsewhere.turn_mut(fixture::turn_id(8)).node = Some(fixture::node_id(2));
    let mut ended = busy_facts();
    ended.turn_mut(fixture::turn_id(8)).turn.status = TurnStatus::Cancelled;
    for facts in [elsewhere, ended, facts()] {
        let outcome = rejected(&failed(fixture::lasting_problem()), &facts).unwrap();
        assert_eq!(outcome, FinishOutcome::NotOwned);
    }
}

/// The facts after turn 8 has ended with the fixture's reply and turn 9 has started.
fn ended_facts() -> Facts {
    let mut facts = busy_facts();
    let mut ended = turn(8, TurnStatus::InProgress);
    ended.turn.status = TurnStatus::Completed;
    ended.turn.finished_at = Some(fixture::at(10));
    let reply = fixture::reply(8);
    ended.turn.reply = Some(reply.message(&ended.turn, 5, fixture::at(10)));
    facts.insert_turn(ended);
    let mut next = turn(9, TurnStatus::InProgress);
    next.turn.started_at = Some(fixture::at(10));
    next.queued_seq = Some(Seq(9));
    next.turn_number = Some(2);
    facts.insert_turn(next);
    facts.conversation_mut().running = Some(fixture::turn_id(9));
    facts.conversation_mut().waiting = 0;
    facts.conversation_mut().first_waiting = None;
    facts
}

fn repeated_outcome(facts: &Facts) -> Option<TurnId> {
    let ending = TurnEnding::Completed(fixture::reply(8));
    match repeated(&finish(ending), facts) {
        FinishOutcome::Finished {
            committed: at,
            promoted,
        } => {
            assert_eq!(at, committed(11, 10));
            promoted.map(|promoted| promoted.turn.id)
        }
        other @ FinishOutcome::NotOwned => panic!("{other:?}"),
    }
}

#[test]
fn a_stored_end_is_returned_again_with_the_turn_that_it_started() {
    assert_eq!(repeated_outcome(&ended_facts()), Some(fixture::turn_id(9)));
}

#[test]
fn a_turn_that_was_started_otherwise_is_not_returned() {
    let mut elsewhere = ended_facts();
    elsewhere.turn_mut(fixture::turn_id(9)).node = Some(fixture::node_id(2));
    let mut never_queued = ended_facts();
    never_queued.turn_mut(fixture::turn_id(9)).queued_seq = None;
    let mut later = ended_facts();
    later.turn_mut(fixture::turn_id(9)).turn_number = Some(3);
    for facts in [elsewhere, never_queued, later] {
        assert_eq!(repeated_outcome(&facts), None);
    }
}

#[test]
fn a_second_reply_to_a_turn_is_rejected() {
    let other = TurnEnding::Completed(fixture::reply(9));
    let outcome = rejected(&finish(other), &ended_facts()).unwrap();
    assert_eq!(outcome, FinishOutcome::NotOwned);
}

#[test]
fn the_requests_of_a_turn_are_written_with_its_end() {
    let requests = fixture::requests(10);
    let sum = RequestUsage::sum(&requests);
    let completed = TurnEnding::Completed(Reply {
        usage: sum,
        requests: requests.clone(),
        ..fixture::reply(8)
    });
    let failed = TurnEnding::Failed {
        problem: fixture::lasting_problem(),
        tool_calls: Vec::new(),
        requests: requests.clone(),
    };
    for ending in [completed, failed] {
        let (rows, _) = carried_out(&finish(ending), &busy_facts());
        assert_eq!(rows.ends[0].usage, sum);
        let written: Vec<_> = rows.usage.iter().map(|row| row.request.clone()).collect();
        assert_eq!(written, requests);
        let row = &rows.usage[0];
        assert_eq!(row.turn_id, fixture::turn_id(8));
        assert_eq!(row.user_id.as_deref(), Some("ada"));
        assert_eq!(row.at, rows.ends[0].finished_at);
    }
    let (rows, _) = carried_out(
        &finish(TurnEnding::Completed(fixture::reply(8))),
        &busy_facts(),
    );
    assert_eq!((rows.ends[0].usage, rows.usage), (None, Vec::new()));
}
