//! `TurnRecovery`: who is dead, where to look, and turns that are failed while they wait.

use std::{collections::HashSet, time::Duration};

use domain::{EventType, NodeId, TenantId, TurnStatus};
use ports::{BeginOutcome, BeginTurn, ExchangeTarget, Storage, TurnAddress, TurnEnding};

use crate::{
    answers::{Answer as _, assert_conflict, event_count},
    dead_nodes::{LONG, Talk, dying_node, marked, sweep, sweeper, swept, two_nodes},
    found, given, log, samples,
};

async fn renewed(storage: &Storage, id: NodeId) -> bool {
    storage.nodes.renew(id, LONG).await.answered()
}

/// Processes whose lease has run out are marked, once, and hold no lease any more; the caller
/// never is. In a store of one process all others are dead, whatever their leases say.
pub async fn marks_processes_that_are_dead(storage: &Storage) {
    let is_of_one_process = storage.recovery.is_of_one_process();
    storage.nodes.insert(sweeper(), LONG).await.answered();
    for number in [1, 2] {
        dying_node(storage, number).await;
    }
    let alive = given::node(storage, 3).await;
    let renewed_late = samples::node_id(2);
    assert!(renewed(storage, renewed_late).await);
    let dead = if is_of_one_process { 3 } else { 1 };
    assert_eq!(marked(storage).await, dead);
    assert_eq!(marked(storage).await, 0);
    assert!(!renewed(storage, samples::node_id(1)).await);
    assert_eq!(renewed(storage, renewed_late).await, !is_of_one_process);
    assert_eq!(renewed(storage, alive).await, !is_of_one_process);
    assert!(renewed(storage, sweeper()).await);
}

/// A process whose own lease has run out, or that was marked, marks nobody: it was away, and maybe
/// with all others. In a store of one process there is nobody else to be away.
pub async fn marks_nobody_for_a_process_without_a_lease(storage: &Storage) {
    let is_of_one_process = storage.recovery.is_of_one_process();
    for number in [1, 2] {
        dying_node(storage, number).await;
    }
    for own in [samples::node_id(1), samples::node_id(404)] {
        let marked = storage.recovery.mark_dead_nodes(own).await.answered();
        assert_eq!(marked > 0, is_of_one_process, "{own}");
    }
}

async fn is_remembered(storage: &Storage, number: u32) -> bool {
    let answer = storage.nodes.insert(samples::node_id(number), LONG).await;
    if answer.is_err() {
        assert_conflict(&answer);
    }
    answer.is_err()
}

/// Processes that were marked are forgotten by a later pass, once no turn of theirs runs.
pub async fn forgets_dead_processes_without_turns(storage: &Storage) {
    let agent = two_nodes(storage).await;
    for number in [2, 3] {
        dying_node(storage, number).await;
    }
    Talk::begun(storage, &agent, 1, 0).await;
    marked(storage).await;
    assert!(is_remembered(storage, 2).await);
    marked(storage).await;
    assert!(!is_remembered(storage, 3).await);
    assert!(is_remembered(storage, 1).await, "a turn of it still runs");
    swept(storage, &sweep()).await;
    marked(storage).await;
    assert!(!is_remembered(storage, 1).await);
}

/// A process that is marked begins nothing, and writes nothing.
pub async fn a_marked_process_begins_nothing(storage: &Storage) {
    let agent = two_nodes(storage).await;
    marked(storage).await;
    let head = log::head(storage, &samples::tenant()).await;
    let target = ExchangeTarget::New(samples::conversation(1, agent.id));
    let question = samples::question(1, &agent, target);
    let answer = storage.turns.begin_turn(question.clone()).await.answered();
    assert_eq!(answer, BeginOutcome::NodeRefused);
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..question
    };
    given::started(storage, &elsewhere).await;
}

/// A process that is marked may end its turn until somebody else has, but nothing is promoted to
/// it: neither by that nor by a cancellation.
pub async fn a_marked_process_is_promoted_nothing(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let ends = Talk::begun(storage, &agent, 1, 1).await;
    let is_cancelled = Talk::begun(storage, &agent, 2, 1).await;
    marked(storage).await;
    let ending = TurnEnding::Completed(samples::reply(1));
    let finish = samples::finish(&ends.running, ending);
    let (committed, promoted) = given::finished(storage, finish).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let running = &is_cancelled.running;
    let (committed, promoted) = given::cancelled(storage, running, Some(running.node)).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    for talk in [ends, is_cancelled] {
        let turn = found::turn(storage, talk.waiting[0].turn_id).await;
        assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
    }
}

/// The turns in progress under a process, of all tenants: none that waits, has ended or runs
/// elsewhere.
pub async fn tells_the_turns_in_progress_under_a_process(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let runs = Talk::begun(storage, &agent, 1, 1).await;
    let ended = Talk::begun(storage, &agent, 2, 0).await;
    given::cancelled(storage, &ended.running, None).await;
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..samples::question(7, &agent, samples::existing(&ended.conversation, 1))
    };
    given::started(storage, &elsewhere).await;
    let other = given::another_tenant(storage).await;
    let theirs = started_of(storage, &other).await;
    let answer = storage.recovery.in_progress_under(samples::node_id(1));
    let turns = HashSet::from_iter(answer.await.answered());
    assert_eq!(turns, addresses([&theirs, &runs.running]));
    let of_nobody = storage.recovery.in_progress_under(samples::node_id(404));
    assert_eq!(of_nobody.await.answered(), []);
}

/// The turns that wait, of all tenants: none that runs or has ended.
pub async fn tells_the_turns_that_wait(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 3).await;
    given::cancelled(storage, &talk.waiting[1], None).await;
    let other = given::another_tenant(storage).await;
    let runs = started_of(storage, &other).await;
    let theirs = BeginTurn {
        turn_id: samples::turn_id(2),
        message_id: samples::message_id(22),
        target: ExchangeTarget::Existing {
            id: runs.target.id(),
            turn_count: 1,
        },
        ..runs
    };
    given::queued(storage, &theirs).await;
    let turns = HashSet::from_iter(storage.recovery.waiting().await.answered());
    let expected = addresses([&talk.waiting[0], &talk.waiting[2], &theirs]);
    assert_eq!(turns, expected);
}

fn addresses<const N: usize>(questions: [&BeginTurn; N]) -> HashSet<TurnAddress> {
    let addresses = questions.map(|question| TurnAddress {
        tenant: question.tenant.clone(),
        conversation_id: question.target.id(),
        turn_id: question.turn_id,
    });
    addresses.into()
}

/// A turn of another tenant that runs on process 1.
async fn started_of(storage: &Storage, tenant: &TenantId) -> BeginTurn {
    let agent = given::stored_agent_of(storage, tenant, samples::agent(1)).await;
    let target = ExchangeTarget::New(samples::conversation(1, agent.id));
    let question = BeginTurn {
        tenant: tenant.clone(),
        ..samples::question(1, &agent, target)
    };
    given::started(storage, &question).await;
    question
}

async fn to_sweep(storage: &Storage, longest_wait: Duration) -> Vec<TenantId> {
    let answer = storage.recovery.tenants_to_sweep(longest_wait).await;
    let mut tenants = answer.answered();
    tenants.sort();
    tenants
}

/// Where all is well there is nothing to sweep: not where a turn runs, nor where others wait
/// behind it.
pub async fn names_no_tenant_in_which_all_is_well(storage: &Storage) {
    let agent = two_nodes(storage).await;
    given::another_tenant(storage).await;
    Talk::begun(storage, &agent, 1, 2).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
}

/// The tenants with turns of dead or unknown processes, each once.
pub async fn names_tenants_with_turns_of_dead_processes(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let (old, new) = (
        given::tenant_named(storage, "old").await,
        given::tenant_named(storage, "young").await,
    );
    for number in 1..=3 {
        Talk::begun(storage, &agent, number, 0).await;
    }
    started_of(storage, &old).await;
    let marks = marked(storage).await;
    assert_eq!(
        (marks, to_sweep(storage, LONG).await),
        (1, vec![samples::tenant(), old])
    );
    dying_node(storage, 2).await;
    let agent = given::stored_agent_of(storage, &new, samples::agent(1)).await;
    let target = ExchangeTarget::New(samples::conversation(1, agent.id));
    let unknown = BeginTurn {
        tenant: new.clone(),
        node: samples::node_id(2),
        ..samples::question(1, &agent, target)
    };
    given::started(storage, &unknown).await;
    assert!(!to_sweep(storage, LONG).await.contains(&new));
    storage.nodes.delete(unknown.node).await.answered();
    assert!(to_sweep(storage, LONG).await.contains(&new));
}

/// The tenants in which a turn waits behind nothing, or has waited for too long.
pub async fn names_tenants_with_turns_that_wait_in_vain(storage: &Storage) {
    let agent = two_nodes(storage).await;
    given::another_tenant(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 1).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
    assert_eq!(to_sweep(storage, Duration::ZERO).await, [samples::tenant()]);
    given::cancelled(storage, &talk.running, None).await;
    assert_eq!(to_sweep(storage, LONG).await, [samples::tenant()]);
    swept(storage, &sweep()).await;
    assert_eq!(to_sweep(storage, LONG).await, []);
    // What runs does not wait, however long it did.
    assert_eq!(to_sweep(storage, Duration::ZERO).await, []);
}

/// A turn that waits is failed with `turn.failed`; what runs goes on, and the next is promoted in
/// its place.
pub async fn fails_a_turn_that_waits(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 2).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(800));
    let (failed, problem) = (&talk.waiting[0], samples::retryable_problem());
    let answer = storage
        .recovery
        .fail_queued(&tenant, failed.turn_id, &problem, &stamp);
    let committed = answer.await.answered().expect("the turn waits");
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(
        (event.kind, event.turn_id),
        (EventType::TurnFailed, Some(failed.turn_id))
    );
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    let turn = found::turn(storage, failed.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(
        (turn.status, turn.error),
        (TurnStatus::Failed, Some(problem))
    );
    assert_eq!(turn.finished_at, Some(samples::at(800)));
    let record = found::claim(storage, failed.claim.as_ref().expect("it has one")).await;
    let released_into = record.and_then(|record| record.released_into);
    assert_eq!(released_into, Some(talk.conversation.id));
    assert_eq!(
        found::messages(storage, talk.conversation.id).await.len(),
        1
    );
    let ending = TurnEnding::Completed(samples::reply(1));
    let finish = samples::finish(&talk.running, ending);
    let (_, promoted) = given::finished(storage, finish).await;
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, talk.waiting[1].turn_id);
}

/// What runs, has ended or was never asked is not failed, nor what another tenant asked; nothing
/// is written then.
pub async fn fails_no_turn_that_does_not_wait(storage: &Storage) {
    let agent = two_nodes(storage).await;
    let talk = Talk::begun(storage, &agent, 1, 2).await;
    let other = given::another_tenant(storage).await;
    let ended = talk.waiting[1].turn_id;
    given::cancelled(storage, &talk.waiting[1], None).await;
    let ours = samples::tenant();
    let (problem, stamp) = (samples::lasting_problem(), samples::stamp(800));
    let head = log::head(storage, &ours).await;
    for (tenant, turn) in [
        (&ours, talk.running.turn_id),
        (&ours, ended),
        (&ours, samples::turn_id(404)),
        (&other, talk.waiting[0].turn_id),
    ] {
        let answer = storage.recovery.fail_queued(tenant, turn, &problem, &stamp);
        assert_eq!(answer.await.answered(), None, "{turn} of {tenant}");
    }
    assert_eq!(log::head(storage, &ours).await, head);
    let running = found::head(storage, talk.conversation.id)
        .await
        .running_turn;
    assert_eq!(running, Some(talk.running.turn_id));
    let waits = found::turn(storage, talk.waiting[0].turn_id).await;
    assert_eq!(waits.map(|turn| turn.status), Some(TurnStatus::Queued));
}
