//! `TurnRecovery::sweep`: what waits starts, or is failed when it has waited for too long.

use std::time::{Duration, Instant};

use domain::{EventType, ProblemCode, Turn, TurnStatus};
use ports::{BeginTurn, Storage, Sweep, Swept, TurnEnding};

use crate::{
    answers::event_count,
    dead_nodes::{Talk, assert_failed, ids, marked, promoted, sweep, sweeper, swept, two_nodes},
    found, given, log, samples,
};

/// The first turn that waits behind a failed one starts in the same pass, under the process that
/// sweeps, with all that this needs to know.
pub async fn starts_what_waits_behind_a_lost_turn(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 2).await;
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    marked(storage).await;
    let swept = swept(storage, &sweep()).await;
    let committed = swept.committed.expect("there was something to do");
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnFailed, EventType::TurnStarted]);
    assert_eq!(swept.failed, [talk.running.turn_id]);
    let [starts] = swept.promoted.try_into().expect("one turn starts");
    let question = &talk.waiting[0];
    assert_eq!(starts.tenant, samples::tenant());
    assert_eq!(starts.principal, question.stamp.actor);
    assert_eq!(starts.user_id, talk.conversation.user_id);
    assert_eq!(starts.message_id, question.message_id);
    assert_eq!((starts.message_seq, starts.turn_number), (2, 1));
    let stored = found::turn(storage, question.turn_id).await;
    let stored = stored.expect("the turn is there");
    assert_eq!(starts.turn, stored);
    let expected = Turn {
        status: TurnStatus::InProgress,
        agent_version: Some(2),
        started_at: Some(sweep().now),
        ..stored.clone()
    };
    assert_eq!((stored.id, &stored), (question.turn_id, &expected));
    let head = found::head(storage, talk.conversation.id).await;
    assert_eq!(head.running_turn, Some(question.turn_id));
    assert_eq!((head.message_count, head.turn_count), (2, 2));
    let ends = BeginTurn {
        node: sweeper(),
        ..question.clone()
    };
    let ending = TurnEnding::Completed(samples::reply(1));
    let (_, next) = given::finished(storage, samples::finish(&ends, ending)).await;
    let next = next.expect("one more waits");
    assert_eq!(next.turn.id, talk.waiting[1].turn_id);
}

/// A turn that waits behind nothing starts, whoever left it there.
pub async fn starts_what_waits_behind_nothing(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 1).await;
    given::cancelled(storage, &talk.running, None).await;
    let swept = swept(storage, &sweep()).await;
    assert_eq!(
        (promoted(&swept), swept.failed),
        (ids(&talk.waiting), vec![])
    );
    assert_eq!(event_count(swept.committed.expect("a turn starts")), 1);
}

/// Turns start in the order in which they came to wait, whatever their ids and times are.
pub async fn starts_what_waits_in_order_of_arrival(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 0).await;
    let mut running = talk.running.clone();
    let mut arrivals = Vec::new();
    for number in [9, 3, 7, 1, 8] {
        let target = samples::existing(&talk.conversation, 1);
        let question = samples::question(number, &agent, target);
        given::queued(storage, &question).await;
        arrivals.push(question);
    }
    for expected in arrivals {
        given::cancelled(storage, &running, None).await;
        let swept = swept(storage, &sweep()).await;
        assert_eq!(promoted(&swept), [expected.turn_id]);
        running = expected;
    }
}

/// In each conversation one turn starts, and none where one runs.
pub async fn starts_one_turn_in_each_conversation(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let mut expected = Vec::new();
    for number in 1..=4 {
        let talk = Talk::begun(storage, &agent, number, 2).await;
        if number % 2 == 0 {
            given::cancelled(storage, &talk.running, None).await;
            expected.push(talk.waiting[0].turn_id);
        }
    }
    let swept = swept(storage, &sweep()).await;
    assert_eq!((promoted(&swept), swept.failed), (expected, vec![]));
    assert_eq!(self::swept(storage, &sweep()).await, Swept::default());
}

/// What has waited for too long is failed as `engine_timeout`, before it could start; what runs
/// goes on, whenever it came to wait.
pub async fn fails_turns_that_waited_for_too_long(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let behind = Talk::begun(storage, &agent, 1, 2).await;
    let free = Talk::begun(storage, &agent, 2, 2).await;
    let node = Some(sweeper());
    let (_, starts) = given::cancelled(storage, &free.running, node).await;
    let starts = starts.expect("a turn waits").turn.id;
    let expired = Sweep {
        longest_wait: Duration::ZERO,
        ..sweep()
    };
    let swept = swept(storage, &expired).await;
    let expected = [&behind.waiting[0], &behind.waiting[1], &free.waiting[1]];
    assert_eq!((&swept.failed, &swept.promoted), (&ids(expected), &vec![]));
    for question in expected {
        assert_failed(storage, question, ProblemCode::EngineTimeout).await;
    }
    let running = found::head(storage, behind.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(behind.running.turn_id));
    let running = found::head(storage, free.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(starts));
}

/// A turn that comes to wait in this conversation only now.
async fn late_comer(storage: &Storage, talk: &Talk, number: u32) -> BeginTurn {
    let target = samples::existing(&talk.conversation, 1);
    let late = BeginTurn {
        stamp: samples::stamp(-1_000_000),
        ..samples::question(number, &samples::agent(1), target)
    };
    given::queued(storage, &late).await;
    late
}

/// When those are failed that waited for too long, the next one counts: it starts, but not where
/// a turn runs. How long a turn waits is measured by the store's clock, not by the times that
/// callers give.
pub async fn the_next_counts_when_others_waited_for_too_long(storage: &Storage) {
    let agent = two_nodes(storage).await;
    for attempt in 1..=8 {
        let free = Talk::begun(storage, &agent, attempt, 1).await;
        let behind = Talk::begun(storage, &agent, 10 + attempt, 1).await;
        given::cancelled(storage, &free.running, None).await;
        let waits_since = Instant::now();
        // Here the passing of time is what is looked at. A store may be slow, so more and more.
        tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
        let starts = late_comer(storage, &free, 20 + attempt).await;
        let waits = late_comer(storage, &behind, 30 + attempt).await;
        let expired = Sweep {
            longest_wait: waits_since.elapsed(),
            ..sweep()
        };
        let swept = swept(storage, &expired).await;
        for question in [&free.waiting[0], &behind.waiting[0]] {
            assert_failed(storage, question, ProblemCode::EngineTimeout).await;
        }
        if swept.failed.len() == 2 {
            assert_eq!(promoted(&swept), [starts.turn_id]);
            let turn = found::turn(storage, waits.turn_id).await;
            let status = turn.map(|turn| turn.status);
            assert_eq!(status, Some(TurnStatus::Queued));
            return;
        }
        // They were late too, by a store that took its time.
        for talk in [free, behind] {
            given::conversation_deleted(storage, &talk.conversation).await;
        }
    }
    panic!("what had not waited for long was failed every time");
}

/// Without a process to run them, or when that is dead itself, turns are failed and none starts.
pub async fn starts_nothing_for_a_process_that_may_not(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let mut talks = Vec::new();
    let unknown = Some(samples::node_id(404));
    for (number, node) in [(1, None), (2, unknown), (3, Some(samples::node_id(1)))] {
        let talk = Talk::begun(storage, &agent, number, 1).await;
        talks.push((talk, node));
    }
    marked(storage).await;
    for (talk, node) in &talks {
        let of_one = Sweep {
            node: *node,
            limit: 1,
            ..sweep()
        };
        let swept = swept(storage, &of_one).await;
        assert_eq!(swept.failed, [talk.running.turn_id]);
        assert_eq!(swept.promoted, []);
    }
    for (talk, node) in talks {
        let again = Sweep { node, ..sweep() };
        assert_eq!(swept(storage, &again).await, Swept::default());
        assert_eq!(
            found::turn(storage, talk.waiting[0].turn_id)
                .await
                .map(|turn| turn.status),
            Some(TurnStatus::Queued)
        );
    }
}

/// Times never run backwards in a conversation or a turn, although the clock of the process that
/// sweeps is behind.
pub async fn a_pass_moves_no_time_backwards(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 1).await;
    let before = found::conversation(storage, talk.conversation.id).await;
    let before = before.expect("the conversation is there").updated_at;
    marked(storage).await;
    let behind = Sweep {
        now: samples::at(-1_000_000),
        ..sweep()
    };
    let swept = swept(storage, &behind).await;
    assert_eq!(promoted(&swept).len(), 1);
    let turn = &swept.promoted[0].turn;
    assert_eq!(turn.started_at, Some(turn.created_at));
    for failed in &swept.failed {
        let turn = found::turn(storage, *failed).await.expect("it is there");
        assert!(turn.finished_at >= turn.started_at, "{turn:?}");
    }
    let after = found::conversation(storage, talk.conversation.id).await;
    let after = after.expect("the conversation is there");
    assert!(after.updated_at >= before, "{after:?}");
    assert!(after.last_message_at >= Some(before), "{after:?}");
}
