use domain::Problem;
use ports::{Committed, FinishOutcome, FinishTurn, TurnEnding};

use super::*;

fn finish(ending: TurnEnding) -> FinishTurn {
    samples::finish(&asked(8, existing(2)), ending)
}

fn item(finish: FinishTurn) -> Item {
    Item::Finish(Box::new(finish))
}

fn failed(problem: Problem) -> Item {
    item(finish(TurnEnding::failed(problem)))
}

#[test]
fn promotes_the_turn_that_waits_first() {
    let answer = TurnEnding::Completed(samples::reply(8));
    let (rows, outcome) = carried_out(item(finish(answer)), &busy_facts());
    let Outcome::Finish(FinishOutcome::Finished {
        committed,
        promoted,
    }) = outcome
    else {
        panic!("{outcome:?}");
    };
    let expected = Committed {
        first: Seq(11),
        last: Seq(12),
    };
    assert_eq!(committed, expected);
    assert_eq!(
        events(&rows),
        [(11, "turn.completed"), (12, "turn.started")]
    );
    let promoted = promoted.unwrap();
    assert_eq!(promoted.turn.id, samples::turn_id(9));
    assert_eq!(promoted.turn.status, TurnStatus::InProgress);
    assert_eq!(promoted.turn.agent_version, Some(agent().version));
    assert_eq!((promoted.message_seq, promoted.turn_number), (6, 2));
    assert_eq!(rows.ends[0].reply_seq, Some(5));
    assert_eq!(rows.starts[0].node, samples::node_id(1));
    assert_eq!(
        (rows.advances[0].message_count, rows.advances[0].turn_count),
        (6, 3)
    );
}

#[test]
fn times_of_a_row_never_run_backwards_when_clocks_differ() {
    let mut facts = busy_facts();
    facts.conversation_mut().updated_at = samples::at(50);
    let mut finish = finish(TurnEnding::Completed(samples::reply(8)));
    finish.stamp.time = samples::at(-1_000);
    let (rows, _) = carried_out(item(finish), &facts);
    let (ended, waiting) = (samples::turn_id(8), samples::turn_id(9));
    assert_eq!((rows.ends[0].id, rows.starts[0].id), (ended, waiting));
    assert_eq!(rows.ends[0].finished_at, samples::at(8), "its start");
    assert_eq!(rows.starts[0].started_at, samples::at(9), "its creation");
    assert_eq!(rows.advances[0].updated_at, samples::at(50));
    assert_eq!(rows.advances[0].last_message_at, Some(samples::at(50)));
}

#[test]
fn promotes_nothing_when_told_not_to_or_when_the_node_is_not_alive() {
    let mut draining = finish(TurnEnding::Completed(samples::reply(8)));
    let mut without_node = busy_facts();
    without_node.live_nodes.clear();
    let (rows, _) = carried_out(item(draining.clone()), &without_node);
    assert_eq!(events(&rows), [(11, "turn.completed")]);
    draining.promote = false;
    let (rows, _) = carried_out(item(draining), &busy_facts());
    assert_eq!(events(&rows), [(11, "turn.completed")]);
    assert!(rows.starts.is_empty());
}

#[test]
fn a_problem_that_passes_releases_the_key() {
    let (rows, _) = carried_out(failed(samples::retryable_problem()), &busy_facts());
    assert_eq!(rows.released[0].turn_id, samples::turn_id(8));
    assert_eq!(rows.released[0].name.key, "key-8");
    let talk = samples::conversation_id(1);
    assert_eq!(rows.released[0].conversation_id, talk);
    let (rows, _) = carried_out(failed(samples::lasting_problem()), &busy_facts());
    assert!(rows.released.is_empty());
}

#[test]
fn is_refused_unless_the_turn_runs_on_this_node() {
    let mut elsewhere = busy_facts();
    elsewhere.turn_mut(samples::turn_id(8)).node = Some(samples::node_id(2));
    let mut ended = busy_facts();
    ended.turn_mut(samples::turn_id(8)).turn.status = TurnStatus::Cancelled;
    for facts in [elsewhere, ended, facts()] {
        let outcome = refused(failed(samples::lasting_problem()), &facts).unwrap();
        assert_eq!(outcome, Outcome::Finish(FinishOutcome::Refused));
    }
}

/// The facts after turn 8 has ended with the sample answer and turn 9 runs in its place.
fn ended_facts() -> Facts {
    let mut facts = busy_facts();
    let mut ended = turn(8, TurnStatus::InProgress);
    ended.turn.status = TurnStatus::Completed;
    ended.turn.finished_at = Some(samples::at(10));
    let reply = samples::reply(8);
    ended.turn.reply = Some(reply.message(&ended.turn, 5, samples::at(10)));
    facts.insert_turn(ended);
    let mut next = turn(9, TurnStatus::InProgress);
    next.turn.started_at = Some(samples::at(10));
    next.queued_seq = Some(Seq(9));
    next.turn_number = Some(2);
    facts.insert_turn(next);
    facts.conversation_mut().running = Some(samples::turn_id(9));
    facts.conversation_mut().waiting = 0;
    facts.conversation_mut().first_waiting = None;
    facts
}

fn told_again(facts: &Facts) -> Option<TurnId> {
    let answer = TurnEnding::Completed(samples::reply(8));
    match refused(item(finish(answer)), facts).unwrap() {
        Outcome::Finish(FinishOutcome::Finished {
            committed,
            promoted,
        }) => {
            assert_eq!((committed.first, committed.last), (Seq(11), Seq(10)));
            promoted.map(|promoted| promoted.turn.id)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_end_that_is_stored_is_told_again_with_the_turn_it_promoted() {
    assert_eq!(told_again(&ended_facts()), Some(samples::turn_id(9)));
}

#[test]
fn a_turn_that_somebody_else_started_is_not_told_as_promoted() {
    let mut elsewhere = ended_facts();
    elsewhere.turn_mut(samples::turn_id(9)).node = Some(samples::node_id(2));
    let mut begun = ended_facts();
    begun.turn_mut(samples::turn_id(9)).queued_seq = None;
    let mut later = ended_facts();
    later.turn_mut(samples::turn_id(9)).turn_number = Some(3);
    for facts in [elsewhere, begun, later] {
        assert_eq!(told_again(&facts), None);
    }
}

#[test]
fn another_answer_to_a_turn_that_has_one_is_refused() {
    let other = TurnEnding::Completed(samples::reply(9));
    let outcome = refused(item(finish(other)), &ended_facts()).unwrap();
    assert_eq!(outcome, Outcome::Finish(FinishOutcome::Refused));
}
