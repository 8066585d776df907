//! `TurnRecovery::sweep`: turns that nobody runs are failed.

use std::time::Duration;

use domain::{EventType, ProblemCode, TurnStatus};
use ports::{BeginTurn, ExchangeTarget, FinishOutcome, Storage, Sweep, Swept, TurnEnding};

use crate::{
    answers::Answer as _,
    dead_nodes::{Talk, assert_failed, ids, marked, promoted, sweep, swept, two_nodes},
    found, given, log, samples,
};

async fn status(storage: &Storage, question: &BeginTurn) -> Option<TurnStatus> {
    let turn = found::turn(storage, question.turn_id).await;
    turn.map(|turn| turn.status)
}

/// Turns of a process that was marked are failed as `interrupted`, all in one pass, and give
/// their keys back; their events name who asked.
pub async fn fails_turns_of_dead_processes(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let mut talks = Vec::new();
    for number in 1..=3 {
        talks.push(Talk::begun(storage, &agent, number, 0).await);
    }
    marked(storage).await;
    let swept = swept(storage, &sweep()).await;
    assert_eq!(swept.failed, ids(talks.iter().map(|talk| &talk.running)));
    assert_eq!(swept.promoted, []);
    let committed = swept.committed.expect("there was something to do");
    let events = log::events_of(storage, committed).await;
    assert_eq!(events.len(), 3);
    for (event, talk) in events.iter().zip(&talks) {
        assert_eq!(event.kind, EventType::TurnFailed);
        assert_eq!(event.turn_id, Some(talk.running.turn_id));
        assert_eq!(event.conversation_id, Some(talk.conversation.id));
        let told = (event.time, &event.actor);
        assert_eq!(told, (sweep().now, &talk.running.stamp.actor));
        assert_failed(storage, &talk.running, ProblemCode::Interrupted).await;
        let head = found::head(storage, talk.conversation.id).await;
        assert_eq!((head.running_turn, head.message_count), (None, 1));
    }
}

/// So are those of a process that is not known (any more).
pub async fn fails_turns_of_unknown_processes(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 0).await;
    storage.nodes.delete(talk.running.node).await.answered();
    let swept = swept(storage, &sweep()).await;
    assert_eq!(swept.failed, [talk.running.turn_id]);
    assert_failed(storage, &talk.running, ProblemCode::Interrupted).await;
}

/// Where all is well, nothing is written: a lease that has run out is no death, and to wait
/// behind a turn is no fault.
pub async fn touches_nothing_while_all_is_well(storage: &Storage) {
    let agent = two_nodes(storage).await;
    Talk::begun(storage, &agent, 1, 2).await;
    let head = log::head(storage, &samples::tenant()).await;
    assert_eq!(swept(storage, &sweep()).await, Swept::default());
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
}

/// A pass touches at most `limit` turns; whoever gets that many calls again, and comes to the
/// same end.
pub async fn touches_no_more_turns_than_the_limit(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let mut talks = Vec::new();
    for number in 1..=4 {
        talks.push(Talk::begun(storage, &agent, number, 2).await);
    }
    marked(storage).await;
    let mut all = Swept::default();
    for limit in [1, 2, 3, 0, 3] {
        let limited = Sweep { limit, ..sweep() };
        let swept = swept(storage, &limited).await;
        let touched = swept.failed.len() + swept.promoted.len();
        assert_eq!(
            touched,
            limit.min(8 - all.failed.len() - all.promoted.len())
        );
        all.failed.extend(swept.failed);
        all.promoted.extend(swept.promoted);
    }
    let mut expected = ids(talks.iter().map(|talk| &talk.running));
    let mut failed = all.failed.clone();
    expected.sort();
    failed.sort();
    assert_eq!(failed, expected);
    let mut expected = ids(talks.iter().map(|talk| &talk.waiting[0]));
    let mut starts = promoted(&all);
    expected.sort();
    starts.sort();
    assert_eq!(starts, expected);
    assert_eq!(swept(storage, &sweep()).await, Swept::default());
}

/// Turns of another tenant are left to a pass of its own, and take no room in this one.
pub async fn sweeps_one_tenant_alone(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let ours = Talk::begun(storage, &agent, 1, 1).await;
    let other = given::another_tenant(storage).await;
    let agent = given::stored_agent_of(storage, &other, agent).await;
    let theirs = BeginTurn {
        tenant: other.clone(),
        ..samples::question(
            900,
            &agent,
            ExchangeTarget::New(samples::conversation(9, agent.id)),
        )
    };
    given::started(storage, &theirs).await;
    marked(storage).await;
    let head = log::head(storage, &samples::tenant()).await;
    let of_one = Sweep {
        tenant: other.clone(),
        limit: 1,
        ..sweep()
    };
    assert_eq!(swept(storage, &of_one).await.failed, [theirs.turn_id]);
    let expired = Sweep {
        longest_wait: Duration::ZERO,
        ..of_one
    };
    assert_eq!(swept(storage, &expired).await, Swept::default());
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
    let swept = swept(storage, &sweep()).await;
    assert_eq!(swept.failed, [ours.running.turn_id]);
}

/// Whoever comes late with the end of a turn that was failed is refused, and changes nothing.
pub async fn a_late_end_of_a_swept_turn_is_refused(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 1).await;
    marked(storage).await;
    swept(storage, &sweep()).await;
    let head = log::head(storage, &samples::tenant()).await;
    for ending in [
        TurnEnding::Completed(samples::reply(1)),
        TurnEnding::failed(samples::lasting_problem()),
    ] {
        let finish = samples::finish(&talk.running, ending);
        let answer = storage.turns.finish_turn(finish).await.answered();
        assert_eq!(answer, FinishOutcome::Refused);
    }
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
    assert_failed(storage, &talk.running, ProblemCode::Interrupted).await;
    let running = found::head(storage, talk.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(talk.waiting[0].turn_id));
}

/// What a deletion has ended is not ended again, and nothing starts where it was.
pub async fn finds_nothing_in_what_was_deleted(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let of_talk = Talk::begun(storage, &agent, 1, 2).await;
    let of_agent = Talk::begun(storage, &agent, 2, 2).await;
    marked(storage).await;
    given::conversation_deleted(storage, &of_talk.conversation).await;
    given::agent_deleted(storage, &agent).await;
    let head = log::head(storage, &samples::tenant()).await;
    let expired = Sweep {
        longest_wait: Duration::ZERO,
        ..sweep()
    };
    assert_eq!(swept(storage, &expired).await, Swept::default());
    let tenants = storage.recovery.tenants_to_sweep(Duration::ZERO).await;
    assert_eq!(tenants.answered(), []);
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
    for talk in [of_talk, of_agent] {
        for question in [&talk.running, &talk.waiting[0], &talk.waiting[1]] {
            assert_eq!(status(storage, question).await, Some(TurnStatus::Cancelled));
        }
    }
}
